/** The permissions of a role or a person: scopes of APIs, grouped by API. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { HeldPermission, ResourceServer } from '../../api/management-types.ts';
import { Select } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { nameOfApi } from './application-apis.tsx';
import { useGate } from './gate-page.tsx';
import { apisKey } from './query-keys.ts';
import { ScopeForm } from './scope-form.tsx';

type Server = Pick<ResourceServer, 'identifier' | 'name' | 'is_system' | 'scopes' | 'enforce_policies'>;

export function Permissions({
  path,
  queryKey,
  mayChange,
  none,
}: {
  /** The role's or person's path below `/api/v2`. */
  path: string;
  queryKey: readonly unknown[];
  mayChange: boolean;
  none: string;
}) {
  const { api, may } = useGate();
  const key = [...queryKey, 'permissions'];
  const [added, setAdded] = useState<string[]>([]);
  const held = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.all<HeldPermission>(`${path}/permissions`, signal),
  });
  const apis = useQuery({
    queryKey: apisKey,
    queryFn: ({ signal }) => api.all<ResourceServer>('/resource-servers', signal),
    enabled: may('read:resource_servers'),
  });
  const servers = serversOf(held.data ?? [], apis.data ?? []);
  const shown = servers.filter(({ identifier }) => added.includes(identifier) || held.data?.some(isOf(identifier)));
  const others = servers.filter((server) => !shown.includes(server));
  return (
    <section className="panel" aria-label="Permissions">
      <h2>Permissions</h2>
      {isInTheWay(held.error, held.data) || isInTheWay(apis.error, apis.data) ? (
        <Problem error={held.error ?? apis.error} onRetry={() => Promise.all([held.refetch(), apis.refetch()])} />
      ) : !held.data || apis.isLoading ? (
        <Loading what="permissions" />
      ) : (
        <>
          {shown.length === 0 && <p className="soft">{none}</p>}
          {shown.map((server) => (
            <OfApi
              key={server.identifier}
              server={server}
              held={held.data.filter(isOf(server.identifier))}
              path={path}
              listKey={key}
              mayChange={mayChange}
              isNew={added.includes(server.identifier)}
            />
          ))}
          {mayChange && others.length > 0 && (
            <Select
              label="Add permissions of"
              value=""
              onChange={(identifier) => setAdded([...added, identifier])}
              options={[
                ['', 'Choose an API …'] as const,
                ...others.map((server) => [server.identifier, nameOfApi(server)] as const),
              ]}
            />
          )}
        </>
      )}
    </section>
  );
}

const isOf = (identifier: string) => (permission: HeldPermission) =>
  permission.resource_server_identifier === identifier;

/** The APIs, plus those known only from the permissions, because they are gone or the person may not read them. */
function serversOf(held: HeldPermission[], apis: ResourceServer[]): Server[] {
  const named = new Map<string, Server>(apis.map((server) => [server.identifier, server]));
  for (const { resource_server_identifier: identifier, resource_server_name: name } of held)
    if (!named.has(identifier)) named.set(identifier, { identifier, name, is_system: false, scopes: [] });
  return [...named.values()];
}

function OfApi({
  server,
  held,
  path,
  listKey,
  mayChange,
  isNew,
}: {
  server: Server;
  held: HeldPermission[];
  path: string;
  listKey: readonly unknown[];
  mayChange: boolean;
  isNew: boolean;
}) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const own = held.filter(isDirect).map(({ permission_name: name }) => name);
  const [isOpen, setOpen] = useState(isNew);
  /** Those held when the form was opened, and what was given here since: somebody else may change them meanwhile. */
  const [before, setBefore] = useState(own);
  const [chosen, setChosen] = useState(own);
  const save = useMutation({
    mutationFn: async () => {
      const body = (names: string[]) => ({
        permissions: names.map((permission_name) => ({
          resource_server_identifier: server.identifier,
          permission_name,
        })),
      });
      const given = chosen.filter((name) => !before.includes(name));
      const taken = before.filter((name) => !chosen.includes(name));
      if (given.length > 0) await api.send('POST', `${path}/permissions`, body(given));
      setBefore([...before, ...given]);
      if (taken.length > 0) await api.send('DELETE', `${path}/permissions`, body(taken));
    },
    onSuccess: () => setOpen(false),
    // One half may have succeeded.
    onSettled: () => queries.invalidateQueries({ queryKey: listKey }),
  });
  const offered = [
    // Nobody can grant what they may not do here themselves.
    ...server.scopes.filter(({ value }) => !server.is_system || may(value) || before.includes(value)),
    ...before.filter((name) => !server.scopes.some(({ value }) => value === name)).map((value) => ({ value })),
  ] as Server['scopes'];
  const name = nameOfApi(server);
  return (
    <section aria-label={name}>
      <div className="title">
        <div className="grow">
          <h3>{name}</h3>
          <span className="soft url">{server.identifier}</span>
        </div>
        <span className="tag">{held.length === 1 ? '1 permission' : `${held.length} permissions`}</span>
        {mayChange && (
          <Button
            className="button small"
            aria-expanded={isOpen}
            onPress={() => {
              setBefore(own);
              setChosen(own);
              setOpen(!isOpen);
            }}
          >
            {isOpen ? 'Close' : 'Change'}
          </Button>
        )}
      </div>
      {server.enforce_policies === false && !server.is_system && (
        <p className="hint">This API does not check permissions (Enable RBAC is off), so everybody gets its scopes.</p>
      )}
      {isOpen ? (
        <ScopeForm
          what="permission"
          offered={offered}
          chosen={chosen}
          onChange={setChosen}
          onSave={() => save.mutate()}
          isPending={save.isPending}
          submit={save.isPending ? 'Saving …' : 'Save permissions'}
        />
      ) : (
        <Held held={held} />
      )}
      {save.error && <Problem error={save.error} />}
    </section>
  );
}

const isDirect = ({ sources }: HeldPermission) =>
  sources === undefined || sources.some(({ source_type: type }) => type === 'DIRECT');

/** Where each permission comes from: granted directly, or through which role. */
function Held({ held }: { held: HeldPermission[] }) {
  const groups = new Map<string, string[]>();
  for (const permission of held) {
    const roles = (permission.sources ?? []).flatMap(({ source_type: type, source_name: name }) =>
      type === 'ROLE' ? [name] : [],
    );
    const from = [
      ...(isDirect(permission) && permission.sources ? ['assigned directly'] : []),
      ...roles.map((name) => `from ${name}`),
    ].join(', ');
    groups.set(from, [...(groups.get(from) ?? []), permission.permission_name]);
  }
  return [...groups].map(([from, names]) => (
    <p key={from} className="codes">
      {from !== '' && <span className="soft">{from}: </span>}
      {names.map((name) => (
        <code key={name}>{name}</code>
      ))}
    </p>
  ));
}
