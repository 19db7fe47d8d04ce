/** Entries of the gate's log, each with its reason. */
import { Link } from '@tanstack/react-router';
import type { LogEntry } from '../../api/management-types.ts';
import { Time } from '../../ui/time.tsx';
import { useApplications } from './applications.tsx';
import { Execution, executionsOf } from './execution.tsx';

export const refusedTypes = [
  ...['f', 'fp', 'fu', 'fs', 'fcp', 'fce', 'fdu', 'limit_wc', 'limit_mu'],
  ...['feacft', 'feccft', 'fepft', 'fertft', 'fede', 'feotpft', 'feoobft', 'fercft'],
  ...['gd_auth_failed', 'gd_webauthn_challenge_failed', 'gd_recovery_failed'],
  ...['gd_otp_rate_limit_exceed', 'gd_recovery_rate_limit_exceed'],
  ...['pwd_leak', 'signup_pwd_leak', 'reset_pwd_leak', 'actions_execution_failed'],
];

/** Authentication methods (`amr`, RFC 8176), in words. */
const methods: Record<string, string> = {
  pwd: 'password',
  otp: 'one-time code',
  sms: 'text message',
  hwk: 'security key or passkey',
  fed: 'another provider',
};

/** Implied by the others: that there were several, or that a key verified its holder. */
const implied = new Set(['mfa', 'user']);

/** Reasons, in words. */
const reasons: Record<string, string> = {
  wrong_password: 'the password was wrong',
  wrong_code: 'the code was wrong',
  code_expired: 'the code had expired',
  too_many_attempts: 'too many wrong attempts',
  redirect_uri_mismatch: 'that callback is not registered',
  denied_by_action: 'it denied access',
  threw: 'it threw an error',
  timeout: 'it took too long',
  absent: 'it has no function for this trigger',
  broken: 'its code cannot be loaded',
  crashed: 'its process died',
  memory: 'it used too much memory',
  busy: 'too many actions ran at once',
  too_large: 'its input or output was too large',
};

export function Entries({ entries }: { entries: LogEntry[] }) {
  const { data } = useApplications();
  const nameOf = (clientId: string) => data?.find(({ client_id }) => client_id === clientId)?.name ?? clientId;
  return (
    <ul className="rows entries">
      {entries.map((entry) => {
        const isRefused = refusedTypes.includes(entry.type);
        const why = whyOf(entry);
        return (
          <li key={entry.log_id}>
            <details>
              <summary className="row">
                <span className={`dot ${isRefused ? 'bad' : 'good'}`} aria-hidden="true" />
                <span className="grow">
                  <strong>{titleOf(entry)}</strong>
                  {why && <span className={isRefused ? 'bad-text why' : 'soft'}>{why}</span>}
                  <span className="soft">
                    {[entry.client_id && nameOf(entry.client_id), entry.user_id, entry.ip].filter(Boolean).join(' · ')}
                  </span>
                </span>
                <span className="soft when">
                  <Time at={entry.date} />
                </span>
              </summary>
              <div className="inside">
                <p>
                  <Time at={entry.date} exact /> · <code>{entry.type}</code>
                  {entry.client_id && (
                    <>
                      {' '}
                      ·{' '}
                      <Link to="/gate/applications/$clientId" params={{ clientId: entry.client_id }}>
                        {nameOf(entry.client_id)}
                      </Link>
                    </>
                  )}
                  {entry.user_id && (
                    <>
                      {' '}
                      ·{' '}
                      <Link to="/gate/users/$userId" params={{ userId: entry.user_id }}>
                        {entry.user_id}
                      </Link>
                    </>
                  )}
                </p>
                {Object.keys(entry.details).length > 0 && (
                  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
                  <pre tabIndex={0}>{JSON.stringify(entry.details, null, 2)}</pre>
                )}
                {executionsOf(entry).map((id) => (
                  <Execution key={id} id={id} />
                ))}
              </div>
            </details>
          </li>
        );
      })}
    </ul>
  );
}

/** A refused request never got to a login, though Auth0's type is the same. */
function titleOf({ type, description, details }: LogEntry): string {
  if (type === 'f' && details.error !== undefined) return 'Refused sign-in request';
  if (type === 'sapi' && typeof details.operation === 'string') return details.operation;
  return description || type;
}

function whyOf({ details }: LogEntry): string {
  const {
    reason,
    error,
    description,
    redirect_uri: uri,
    registered,
    client_asked: asked,
    advice,
    target,
    amr,
    scopes,
    action,
  } = details;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  if (text(action) && text(reason)) {
    const what = reasons[String(reason)] ?? reason;
    return `${action}: ${what}${text(description) ? `: ${description}` : ''}`;
  }
  if (text(reason)) return reasons[String(reason)] ?? String(reason);
  if (text(error)) {
    const about = [
      `${error}${text(description) ? `: ${description}` : ''}`,
      text(advice),
      text(asked) && `requested application: ${asked}`,
      text(uri) && `requested: ${uri}`,
      Array.isArray(registered) && text(uri) && `registered: ${registered.join(', ') || 'none'}`,
    ];
    return about.filter(Boolean).join('; ');
  }
  if (Array.isArray(amr) && amr.length > 0)
    return `by ${amr
      .filter((method) => !implied.has(method))
      .map((method) => methods[method] ?? method)
      .join(', ')}`;
  if (Array.isArray(scopes)) return scopes.join(' ');
  return text(target) ?? '';
}
