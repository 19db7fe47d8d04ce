/** How an application authenticates. A secret is shown once, when it is created: the gate keeps only its hash. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Application } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Checkbox, Select } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { applicationKey } from './application.tsx';
import { useGate } from './gate-page.tsx';
import { rememberSecret, secretOf } from './secrets.ts';

type Method = NonNullable<Application['token_endpoint_auth_method']>;
const methods = [
  ['none', 'None: it cannot keep a secret, and uses PKCE'],
  ['client_secret_post', 'Client Secret (Post)'],
  ['client_secret_basic', 'Client Secret (Basic)'],
  ['private_key_jwt', 'Private Key JWT'],
] as const satisfies readonly (readonly [Method, string])[];

export function Credentials({ application }: { application: Application }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [endsOld, setEndsOld] = useState(false);
  const path = `/clients/${encodeURIComponent(application.client_id)}`;
  const method: Method = application.token_endpoint_auth_method ?? 'private_key_jwt';
  const take = ({ client_secret: secret, ...changed }: Application) => {
    rememberSecret(application.client_id, secret);
    queries.setQueryData(applicationKey(application.client_id), changed);
  };
  const rotate = useMutation({
    mutationFn: () => api.send<Application>('POST', `${path}/rotate-secret`, { revoke_previous: endsOld }),
    onSuccess: take,
  });
  const change = useMutation({
    mutationFn: (wanted: Method) => api.send<Application>('PATCH', path, { token_endpoint_auth_method: wanted }),
    onSuccess: take,
  });
  const secret = secretOf(application.client_id);
  const hasSecret = method.startsWith('client_secret');
  return (
    <>
      {secret !== undefined && hasSecret && (
        <section className="panel" aria-label="New secret">
          <h2>Client secret</h2>
          <p>
            <code className="url">{secret}</code> <Copy text={secret} />
          </p>
          <p className="hint">
            Copy it now. It is not shown again, because the gate stores only its hash. The quick start contains it until
            you leave this page.
          </p>
        </section>
      )}
      <section className="panel form" aria-label="Authentication method">
        <h2>Authentication method</h2>
        {may('update:client_keys') && may('update:clients') ? (
          <Select
            label="Authentication at the token endpoint"
            value={method}
            onChange={(wanted) => change.mutate(wanted)}
            options={methods.filter(([key]) => key !== 'private_key_jwt' || method === 'private_key_jwt')}
          />
        ) : (
          <p>{methods.find(([key]) => key === method)?.[1]}</p>
        )}
        {method === 'private_key_jwt' && (
          <p className="hint">Its public keys are set with the management API or the seed file.</p>
        )}
        {change.error && <Problem error={change.error} />}
      </section>
      {hasSecret && may('update:client_keys') && (
        <section className="panel form" aria-label="Rotate the secret">
          <h2>Rotate the secret</h2>
          <p className="soft">
            This creates a new secret. The current one stays valid until you rotate again, so that you have time to
            update running applications.
          </p>
          <Checkbox isSelected={endsOld} onChange={setEndsOld}>
            Revoke the current secret immediately, because it was leaked
          </Checkbox>
          <Confirm
            label="Rotate"
            title={`Rotate the secret of ${application.name}?`}
            action="Create a new secret"
            onConfirm={() => rotate.mutate()}
          >
            <p>
              {endsOld
                ? 'The current secret stops working immediately, also for running applications.'
                : 'The current secret stays valid until you rotate again. An earlier one stops working now.'}
            </p>
          </Confirm>
          {rotate.error && <Problem error={rotate.error} />}
        </section>
      )}
      {!hasSecret && method === 'none' && (
        <p className="soft">A single-page or native application has no secret, because anybody could read it there.</p>
      )}
    </>
  );
}
