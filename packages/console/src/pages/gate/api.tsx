/** One API: its scopes, its tokens, and which applications may use it on their own behalf. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Application, ClientGrant, ResourceServer, TokenDialect } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useTitle } from '../../ui/title.ts';
import { changesOf } from '../changes.ts';
import { nameOfApi } from './application-apis.tsx';
import { DeletePanel } from './delete-panel.tsx';
import { NumberField } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Grant } from './grant.tsx';
import { Head, Id } from './head.tsx';
import { algorithms } from './kinds.ts';
import { apisKey, grantsKey } from './query-keys.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

const apisList = { to: '/gate/apis', key: apisKey } as const;

export const ApiPage = gatePage('API', 'read:resource_servers', ({ apiId }: { apiId: string }) => {
  const { api, may } = useGate();
  const path = `/resource-servers/${encodeURIComponent(apiId)}`;
  const { data, error, refetch } = useQuery({
    queryKey: [...apisKey, apiId],
    queryFn: ({ signal }) => api.get<ResourceServer>(path, signal),
  });
  useTitle(data ? nameOfApi(data) : 'API');
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the API" />;
  const mayChange = may('update:resource_servers') && !data.is_system;
  return (
    <>
      <Head back={<Link to="/gate/apis">APIs</Link>} name={nameOfApi(data)}>
        {data.is_system && <span className="tag">built in, cannot be changed</span>}
      </Head>
      <Id what="Identifier (audience)" id={data.identifier} />
      {mayChange && <Settings key={apiId} server={data} path={path} />}
      <Scopes server={data} path={path} mayChange={mayChange} />
      {may('read:client_grants') && may('read:clients') && <Machines server={data} />}
      {may('delete:resource_servers') && !data.is_system && (
        <DeletePanel what="API" name={data.name} path={path} list={apisList} itemKey={[...apisKey, apiId]}>
          No more tokens are issued for <strong className="url">{data.identifier}</strong>, and the grants of
          applications for it are deleted. This cannot be undone.
        </DeletePanel>
      )}
    </>
  );
});

function useOnSaved() {
  const queries = useQueryClient();
  return (changed: ResourceServer) => {
    queries.setQueryData([...apisKey, changed.id], changed);
    return queries.invalidateQueries({ queryKey: apisKey, exact: true });
  };
}

function Settings({ server, path }: { server: ResourceServer; path: string }) {
  const { api } = useGate();
  const { form, save, change } = useSettings(
    server,
    formOf,
    (saved, now) => api.send<ResourceServer>('PATCH', path, changesOf(bodyOf(formOf(saved)), bodyOf(now))),
    useOnSaved(),
  );
  return (
    <SettingsForm label="Settings" save={save} onSave={() => save.mutate()}>
      <h2>Settings</h2>
      <TextField label="Name" name="name" isRequired value={form.name} onChange={(name) => change({ name })} />
      <NumberField
        label="Access token lifetime (seconds)"
        name="token_lifetime"
        value={form.lifetime}
        onChange={(lifetime) => change({ lifetime })}
      />
      <Select label="Signing algorithm" value={form.alg} onChange={(alg) => change({ alg })} options={algorithms} />
      <Checkbox isSelected={form.offline} onChange={(offline) => change({ offline })}>
        Allow Offline Access: applications can get refresh tokens for this API
      </Checkbox>
      <Checkbox isSelected={form.skips} onChange={(skips) => change({ skips })}>
        Allow Skipping User Consent: your own applications do not ask users for consent
      </Checkbox>
      <Checkbox isSelected={form.enforces} onChange={(enforces) => change({ enforces })}>
        Enable RBAC: users only get the scopes that their roles and permissions include
      </Checkbox>
      <Checkbox isSelected={form.listsPermissions} onChange={(listsPermissions) => change({ listsPermissions })}>
        Add Permissions in the Access Token: the claim <code>permissions</code> lists them
      </Checkbox>
      <Select
        label="JSON Web Token (JWT) Profile"
        value={form.isRfc ? 'rfc9068' : 'auth0'}
        onChange={(profile) => change({ isRfc: profile === 'rfc9068' })}
        options={[
          ['auth0', 'Auth0: the header’s type is JWT, which every library accepts'],
          ['rfc9068', 'RFC 9068: the header’s type is at+jwt'],
        ]}
      />
    </SettingsForm>
  );
}

function formOf(server: ResourceServer) {
  return {
    name: server.name,
    lifetime: String(server.token_lifetime),
    alg: server.signing_alg as (typeof algorithms)[number][0],
    offline: server.allow_offline_access,
    skips: server.skip_consent_for_verifiable_first_party_clients,
    enforces: server.enforce_policies ?? false,
    isRfc: server.token_dialect.startsWith('rfc9068'),
    listsPermissions: server.token_dialect.endsWith('_authz'),
  };
}

const bodyOf = (form: ReturnType<typeof formOf>) => ({
  name: form.name,
  token_lifetime: Number(form.lifetime),
  signing_alg: form.alg,
  allow_offline_access: form.offline,
  skip_consent_for_verifiable_first_party_clients: form.skips,
  enforce_policies: form.enforces,
  token_dialect: dialectOf(form),
});

const dialectOf = ({ isRfc, listsPermissions }: { isRfc: boolean; listsPermissions: boolean }): TokenDialect =>
  `${isRfc ? 'rfc9068_profile' : 'access_token'}${listsPermissions ? '_authz' : ''}`;

function Scopes({ server, path, mayChange }: { server: ResourceServer; path: string; mayChange: boolean }) {
  const [value, setValue] = useState('');
  const [description, setDescription] = useState('');
  const { api } = useGate();
  // The API replaces the whole list, to which others may have added meanwhile.
  const save = useMutation({
    mutationFn: async (edit: (scopes: Scope[]) => Scope[]) => {
      const { scopes } = await api.get<ResourceServer>(path);
      return api.send<ResourceServer>('PATCH', path, { scopes: edit(scopes) });
    },
    onSuccess: useOnSaved(),
  });
  return (
    <section className="panel" aria-label="Scopes">
      <h2>Scopes</h2>
      {server.scopes.length === 0 && (
        <p className="soft">There are no scopes yet. Any token for this API gives full access.</p>
      )}
      <ul
        className={server.is_system ? 'rows catalogue' : 'rows'}
        // Scrollable content must be reachable by keyboard, even if nothing in it can be.
        {...(server.is_system && { tabIndex: 0, 'aria-label': 'Scopes' })}
      >
        {server.scopes.map((scope) => (
          <li key={scope.value} className="row">
            <span className="grow">
              <code>{scope.value}</code>
              <span className="soft">{scope.description}</span>
            </span>
            {mayChange && (
              <Confirm
                label="Remove"
                about={scope.value}
                title={`Remove the scope ${scope.value}?`}
                action="Remove it"
                onConfirm={() => save.mutate((scopes) => scopes.filter(({ value }) => value !== scope.value))}
              >
                <p>New tokens no longer contain it. Tokens already issued keep it until they expire.</p>
              </Confirm>
            )}
          </li>
        ))}
      </ul>
      <Refusals error={save.error}>
        {mayChange && (
          <Form
            className="pair"
            aria-label="New scope"
            onSubmit={(event) => {
              event.preventDefault();
              save.mutate((scopes) => [...scopes, { value, ...(description !== '' && { description }) }], {
                onSuccess: () => {
                  setValue('');
                  setDescription('');
                },
              });
            }}
          >
            <TextField
              label="Scope"
              name="scopes"
              isRequired
              value={value}
              onChange={setValue}
              placeholder="read:things"
            />
            <TextField label="Description" value={description} onChange={setDescription} />
            <Button className="button" type="submit" isDisabled={save.isPending}>
              Add
            </Button>
          </Form>
        )}
      </Refusals>
    </section>
  );
}

type Scope = ResourceServer['scopes'][number];

const shownMax = 50;

/** Applications with the required grant type, authorized ones first. */
function Machines({ server }: { server: ResourceServer }) {
  const { api } = useGate();
  const [search, setSearch] = useState('');
  const machines = useQuery({
    queryKey: ['gate', 'machines'],
    queryFn: ({ signal }) =>
      api.all<Pick<Application, 'client_id' | 'name' | 'grant_types'>>(
        '/clients?fields=client_id,name,grant_types',
        signal,
      ),
    select: (all) => all.filter(({ grant_types: types }) => types.includes('client_credentials')),
  });
  const grants = useQuery({
    queryKey: [...grantsKey, 'for', server.identifier],
    queryFn: ({ signal }) =>
      api.all<ClientGrant>(`/client-grants?audience=${encodeURIComponent(server.identifier)}`, signal),
  });
  const grantOf = (clientId: string) => grants.data?.find(({ client_id }) => client_id === clientId);
  const found = (machines.data ?? [])
    .filter(({ name, client_id }) => `${name} ${client_id}`.toLowerCase().includes(search.toLowerCase()))
    .sort((a, b) => Number(!grantOf(a.client_id)) - Number(!grantOf(b.client_id)) || a.name.localeCompare(b.name));
  return (
    <>
      <div className="title">
        <h2>Machine to machine applications</h2>
        <span className="grow" />
        {(machines.data?.length ?? 0) > 5 && (
          <TextField label="Find an application" value={search} onChange={setSearch} />
        )}
      </div>
      {isInTheWay(machines.error, machines.data) || isInTheWay(grants.error, grants.data) ? (
        <Problem
          error={machines.error ?? grants.error}
          onRetry={() => Promise.all([machines.refetch(), grants.refetch()])}
        />
      ) : !machines.data || !grants.data ? (
        <Loading what="applications" />
      ) : found.length === 0 ? (
        <Empty title={search ? 'No applications match' : 'No application has the grant type Client Credentials'} />
      ) : (
        found
          .slice(0, shownMax)
          .map(({ client_id: clientId, name }) => (
            <Grant
              key={clientId}
              title={name}
              subtitle={clientId}
              server={server}
              clientId={clientId}
              grant={grantOf(clientId)}
            />
          ))
      )}
      {found.length > shownMax && (
        <p className="hint">Only the first {shownMax} are shown. Use the search to find others.</p>
      )}
    </>
  );
}
