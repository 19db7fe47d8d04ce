/** Which second factors people may use, and whether everybody needs one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Factor } from '../../api/management-types.ts';
import { Checkbox, Choice } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';

const factorsKey = ['gate', 'factors'];
const policiesKey = ['gate', 'mfa policies'];

/** In Auth0's words. Gatepost lacks the others that the API lists. */
const factors: [string, string, string][] = [
  ['otp', 'One-time Password', 'A code from an authenticator app'],
  ['sms', 'Phone Message', 'A code by text message'],
  ['email', 'Email', 'A code by email'],
  ['webauthn-roaming', 'WebAuthn with FIDO Security Keys', 'A key that is plugged in or tapped'],
  ['webauthn-platform', 'WebAuthn with FIDO Device Biometrics', 'Fingerprint, face or PIN of the device'],
  ['recovery-code', 'Recovery Code', 'Ten codes to keep in case the other factors are lost'],
];

export const MultiFactor = gatePage('Multi-factor', 'read:guardian_factors', () => {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: factorsKey,
    queryFn: ({ signal }) => api.get<Factor[]>('/guardian/factors', signal),
  });
  const change = useMutation({
    mutationFn: ({ name, enabled }: Factor) => api.send('PUT', `/guardian/factors/${name}`, { enabled }),
    onSuccess: () => queries.invalidateQueries({ queryKey: factorsKey }),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="factors" />;
  const isOn = (name: string) => data.some((factor) => factor.name === name && factor.enabled);
  return (
    <>
      <div className="title">
        <h1>Multi-factor authentication</h1>
      </div>
      <section className="panel form" aria-label="Factors">
        <h2>Factors</h2>
        <p className="soft">
          What users can set up and are asked for in addition to a password. A passkey needs no second factor.
        </p>
        <fieldset className="bare form" disabled={!may('update:guardian_factors') || change.isPending}>
          <legend className="hidden">Factors</legend>
          {factors.map(([name, text, about]) => (
            <Checkbox key={name} isSelected={isOn(name)} onChange={(enabled) => change.mutate({ name, enabled })}>
              {text} <span className="soft">{about}</span>
            </Checkbox>
          ))}
        </fieldset>
        {change.error && <Problem error={change.error} />}
      </section>
      {may('read:mfa_policies') && (
        <Policy hasFactor={factors.some(([name]) => name !== 'recovery-code' && isOn(name))} />
      )}
    </>
  );
});

const words = {
  enrolled: 'If a user has set one up, or an application requires it',
  always: 'Always: everybody sets one up at their next sign-in',
};

function Policy({ hasFactor }: { hasFactor: boolean }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: policiesKey,
    queryFn: ({ signal }) => api.get<string[]>('/guardian/policies', signal),
  });
  const change = useMutation({
    mutationFn: (policy: keyof typeof words) =>
      api.send<string[]>('PUT', '/guardian/policies', policy === 'always' ? ['all-applications'] : []),
    onSuccess: (policies) => queries.setQueryData(policiesKey, policies),
  });
  const policy = data?.includes('all-applications') ? 'always' : 'enrolled';
  return (
    <section className="panel form" aria-label="Policy">
      <h2>Policy</h2>
      {isInTheWay(error, data) ? (
        <Problem error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading what="the policy" />
      ) : may('update:mfa_policies') ? (
        <Choice label="Require multi-factor authentication" value={policy} onChange={change.mutate} options={words} />
      ) : (
        <p>{words[policy]}</p>
      )}
      {data && policy === 'always' && !hasFactor && <p className="note">No factor is enabled, so nobody is asked.</p>}
      {change.error && <Problem error={change.error} />}
    </section>
  );
}
