/** The connections through which an organization's members sign in. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Connection, Organization, OrganizationConnection } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Checkbox, Select } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { useGate } from './gate-page.tsx';
import { List } from './list.tsx';
import { organizationKey } from './organization.tsx';
import { connectionsKey } from './query-keys.ts';
import { strategies } from './strategies.ts';

export function OrganizationConnections({ organization, path }: { organization: Organization; path: string }) {
  const { api, may } = useGate();
  const key = [...organizationKey(organization.id), 'connections'];
  const list = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.all<OrganizationConnection>(`${path}/enabled_connections`, signal),
  });
  return (
    <List
      title="Connections"
      none="None are enabled, so members can sign in with all connections of an application."
      list={list}
      problem={null}
      after={
        may('create:organization_connections') &&
        may('read:connections') && (
          <Enable path={path} listKey={key} known={list.data?.map(({ connection_id: id }) => id) ?? []} />
        )
      }
    >
      {(enabled) => <One key={enabled.connection_id} enabled={enabled} path={path} listKey={key} />}
    </List>
  );
}

type Option = 'assign_membership_on_login' | 'show_as_button' | 'is_signup_enabled';
const options: [Option, string][] = [
  ['assign_membership_on_login', 'Membership On Authentication: users who sign in with it become members'],
  ['show_as_button', 'Show as a button on the sign-in page'],
  ['is_signup_enabled', 'Users can sign up with it'],
];
/** In an organization, only our own database connection can allow sign-ups, and only external ones have a button. */
const appliesTo = (option: Option, strategy: string) =>
  option === 'is_signup_enabled'
    ? strategy === 'auth0'
    : option === 'show_as_button'
      ? strategies[strategy]?.options !== undefined
      : true;

function One({
  enabled,
  path,
  listKey,
}: {
  enabled: OrganizationConnection;
  path: string;
  listKey: readonly unknown[];
}) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { name, strategy } = enabled.connection;
  const own = `${path}/enabled_connections/${encodeURIComponent(enabled.connection_id)}`;
  const refresh = () => queries.invalidateQueries({ queryKey: listKey });
  const change = useMutation({
    mutationFn: (part: Partial<Record<Option, boolean>>) => api.send('PATCH', own, part),
    onSuccess: refresh,
  });
  const remove = useMutation({ mutationFn: () => api.send('DELETE', own), onSuccess: refresh });
  return (
    <li>
      <div className="row">
        <span className="grow">
          <strong>{name}</strong>
          <span className="soft">{strategies[strategy]?.text ?? strategy}</span>
        </span>
        {may('delete:organization_connections') && (
          <Confirm
            label="Remove"
            about={name}
            size="small"
            title={`Remove ${name}?`}
            action="Remove the connection"
            onConfirm={() => remove.mutate()}
          >
            <p>
              Members can no longer use it to sign in to the organization. If no connection is left, they can use all
              connections of an application.
            </p>
          </Confirm>
        )}
      </div>
      <fieldset className="bare" disabled={!may('update:organization_connections') || change.isPending}>
        <legend className="hidden">{name}</legend>
        {options
          .filter(([option]) => appliesTo(option, strategy))
          .map(([option, text]) => (
            <Checkbox key={option} isSelected={enabled[option]} onChange={(is) => change.mutate({ [option]: is })}>
              {text}
            </Checkbox>
          ))}
      </fieldset>
      {(change.error ?? remove.error) && <Problem error={change.error ?? remove.error} />}
    </li>
  );
}

function Enable({ path, listKey, known }: { path: string; listKey: readonly unknown[]; known: string[] }) {
  const { api } = useGate();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState('');
  const connections = useQuery({
    queryKey: connectionsKey,
    queryFn: ({ signal }) => api.all<Connection>('/connections', signal),
  });
  const left = (connections.data ?? []).filter(({ id }) => !known.includes(id));
  const id = left.some((connection) => connection.id === chosen) ? chosen : (left[0]?.id ?? '');
  const add = useMutation({
    mutationFn: () => api.send('POST', `${path}/enabled_connections`, { connection_id: id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: listKey }),
  });
  if (left.length === 0) return null;
  return (
    <>
      <div className="pair">
        <Select
          label="Another connection"
          value={id}
          onChange={setChosen}
          options={left.map((connection) => [connection.id, connection.name] as const)}
        />
        <Button className="button" isDisabled={add.isPending} onPress={() => add.mutate()}>
          Enable
        </Button>
      </div>
      {add.error && <Problem error={add.error} />}
    </>
  );
}
