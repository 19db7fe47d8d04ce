import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form, Label, Radio, RadioGroup } from 'react-aria-components';
import type { Application, AppType } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { Path } from '../shell.tsx';
import { applicationsKey } from './applications.tsx';
import { Area, linesOf } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { kinds } from './kinds.ts';
import { originOf } from './origin.ts';
import { rememberSecret } from './secrets.ts';

export const NewApplication = gatePage('New application', 'create:clients', () => {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<AppType>('regular_web');
  const [callbacks, setCallbacks] = useState('');
  const create = useMutation({
    mutationFn: () => api.send<Application>('POST', '/clients', newApplication(name, kind, linesOf(callbacks))),
    onSuccess: async ({ client_id: clientId, client_secret: secret }) => {
      rememberSecret(clientId, secret);
      await queries.invalidateQueries({ queryKey: applicationsKey });
      await navigate({ to: '/gate/applications/$clientId', params: { clientId }, search: { tab: 'start' } });
    },
  });
  return (
    <>
      <Path>
        <Link to="/gate/applications">Applications</Link> / New
      </Path>
      <div className="title">
        <h1>New application</h1>
      </div>
      <Form
        className="panel form"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Refusals error={create.error}>
          <TextField
            label="Name"
            name="name"
            isRequired
            value={name}
            onChange={setName}
            hint="Shown to users who sign in."
          />
          <RadioGroup className="field" value={kind} onChange={(chosen) => setKind(chosen as AppType)}>
            <Label>Type</Label>
            <div className="kinds">
              {(Object.keys(kinds) as AppType[]).map((key) => (
                <Radio key={key} value={key} className="choice">
                  <strong>{kinds[key].text}</strong>
                  <span className="hint">{kinds[key].about}</span>
                </Radio>
              ))}
            </div>
          </RadioGroup>
          {kind !== 'non_interactive' && (
            <Area
              label="Allowed Callback URLs"
              name="callbacks"
              hint="Where users may be redirected after signing in. One per line, matched exactly. You can add them later."
              value={callbacks}
              onChange={setCallbacks}
            />
          )}
        </Refusals>
        <div className="actions">
          <Button className="button primary" type="submit" isDisabled={create.isPending}>
            {create.isPending ? 'Creating …' : 'Create'}
          </Button>
        </div>
      </Form>
    </>
  );
});

/**
 * Includes what a kind needs to work at once: web origins for a single-page app, where people return after logout, and claims in the ID token,
 * from which Auth0's SDKs read who has signed in.
 */
function newApplication(name: string, kind: AppType, callbacks: string[]) {
  const origins = [...new Set(callbacks.flatMap((url) => originOf(url) ?? []))];
  const grants: Record<AppType, string[]> = {
    regular_web: ['authorization_code', 'refresh_token'],
    spa: ['authorization_code', 'refresh_token'],
    native: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    non_interactive: ['client_credentials'],
  };
  return {
    name,
    app_type: kind,
    grant_types: grants[kind],
    ...(kind !== 'non_interactive' && { callbacks, oidc_conformant_claims: false }),
    ...(kind !== 'non_interactive' && kind !== 'native' && { allowed_logout_urls: origins }),
    ...(kind === 'spa' && { web_origins: origins, refresh_token: { rotation_type: 'rotating' } }),
  };
}
