/** Log entries about a person in plain words: those that they can judge themselves. */
import type { AccountActivity, AccountItem } from '../pages/account.ts';
import type { Visit } from './visit.ts';

const path = '/account/activity';
const shownMax = 50;

/** By log type. Others mean nothing to a person, such as exchanged tokens and sent codes. */
const activities: Record<string, AccountActivity> = {
  s: 'didLogIn',
  sepft: 'didLogIn',
  seotpft: 'didLogIn',
  seoobft: 'didLogIn',
  sercft: 'didLogIn',
  f: 'failedLogin',
  fp: 'failedLogin',
  pwd_leak: 'failedLogin',
  limit_wc: 'didLock',
  ss: 'didSignUp',
  slo: 'didLogOut',
  scp: 'didChangePassword',
  fcp: 'failedPassword',
  scpr: 'didAskForPassword',
  sce: 'didChangeEmail',
  sv: 'didVerify',
  consent_granted: 'didConsent',
  gd_enrollment_complete: 'didEnrol',
  gd_unenroll: 'didUnenrol',
  gd_auth_failed: 'failedFactor',
  gd_webauthn_challenge_failed: 'failedFactor',
  gd_recovery_succeed: 'didRecover',
  gd_recovery_failed: 'failedFactor',
};

/** Actions on these pages for which Auth0 has no type. */
const operations: Record<string, AccountActivity> = {
  'POST account/profile': 'didChangeProfile',
  'DELETE account/devices': 'didEndSession',
  'DELETE account/applications': 'didDisconnect',
  'POST account/recovery-codes': 'didMakeCodes',
  'POST account/sign-ins': 'didLink',
  'DELETE account/sign-ins': 'didUnlink',
  'GET account/data': 'didDownload',
};

type Row = {
  id: string;
  date: Date;
  type: string;
  client_id: string | null;
  ip: string | null;
  operation: string | null;
};

export async function showActivity(visit: Visit): Promise<void> {
  const { parts, account } = visit;
  const { rows } = await parts.pool.query<Row>({
    name: 'activity of',
    text: `SELECT id, date, type, client_id, ip, details ->> 'operation' AS operation FROM logs
           WHERE user_id = $1 AND (type = ANY ($2) OR (type = 'sapi' AND details ->> 'operation' = ANY ($3)))
           ORDER BY id DESC LIMIT $4`,
    values: [account.userId, Object.keys(activities), Object.keys(operations), shownMax],
  });
  const items = await Promise.all(rows.map((row) => itemOf(visit, row)));
  return visit.show('account-list', { path, list: 'activity', groups: [{ items, empty: 'activityEmpty' }] });
}

async function itemOf({ parts }: Visit, { id, date, type, client_id, ip, operation }: Row): Promise<AccountItem> {
  const client = client_id === null ? undefined : await parts.clients.find(client_id);
  return {
    id: String(id),
    kind: type === 'sapi' ? operations[operation ?? '']! : activities[type]!,
    notes: [{ at: date }, ...(client ? [{ text: client.name || client.clientId }] : []), ...(ip ? [{ text: ip }] : [])],
  };
}
