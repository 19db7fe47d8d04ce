/** A person's roles, and the organizations that they belong to. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Organization, Role, User } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Select } from '../../ui/fields.tsx';
import { useGate } from './gate-page.tsx';
import { List, Row } from './list.tsx';
import { userKey } from './query-keys.ts';
import { useRoles } from './roles.tsx';

export function UserRoles({ user, path }: { user: User; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: [...userKey(user.user_id), 'roles'],
    queryFn: ({ signal }) => api.all<Role>(`${path}/roles`, signal),
  });
  const change = useMutation({
    mutationFn: ({ method, role }: { method: 'POST' | 'DELETE'; role: string }) =>
      api.send(method, `${path}/roles`, { roles: [role] }),
    // The permissions include those of the roles.
    onSuccess: () => queries.invalidateQueries({ queryKey: userKey(user.user_id) }),
  });
  return (
    <List
      title="Roles"
      none="No roles are assigned."
      list={list}
      problem={change.error}
      after={
        may('update:users') &&
        may('read:roles') &&
        list.data && (
          <Give
            held={list.data}
            onGive={(role) => change.mutate({ method: 'POST', role })}
            isPending={change.isPending}
          />
        )
      }
    >
      {(role) => (
        <Row
          key={role.id}
          title={
            may('read:roles') ? (
              <Link to="/gate/roles/$roleId" params={{ roleId: role.id }}>
                {role.name}
              </Link>
            ) : (
              role.name
            )
          }
          text={role.description}
        >
          {may('update:users') && (
            <Confirm
              label="Remove"
              about={role.name}
              size="small"
              title={`Remove ${role.name} from ${user.name}?`}
              action="Remove the role"
              onConfirm={() => change.mutate({ method: 'DELETE', role: role.id })}
            >
              <p>Their next token no longer has its permissions. The management API applies the change immediately.</p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}

function Give({ held, onGive, isPending }: { held: Role[]; onGive: (role: string) => void; isPending: boolean }) {
  const all = useRoles();
  const [chosen, setChosen] = useState('');
  const left = (all.data ?? []).filter(({ id }) => !held.some((role) => role.id === id));
  const role = left.some(({ id }) => id === chosen) ? chosen : '';
  if (left.length === 0) return null;
  return (
    <div className="pair">
      <Select
        label="Another role"
        value={role}
        onChange={setChosen}
        options={[['', 'Choose a role …'] as const, ...left.map(({ id, name }) => [id, name] as const)]}
      />
      <Button className="button" isDisabled={isPending || role === ''} onPress={() => onGive(role)}>
        Give
      </Button>
    </div>
  );
}

export function UserOrganizations({ user, path }: { user: User; path: string }) {
  const { api, may } = useGate();
  const list = useQuery({
    queryKey: [...userKey(user.user_id), 'organizations'],
    queryFn: ({ signal }) => api.all<Organization>(`${path}/organizations`, signal),
  });
  if (list.data?.length === 0) return null;
  return (
    <List title="Organizations" none="" list={list} problem={null}>
      {({ id, display_name: text, name }) => (
        <Row
          key={id}
          title={
            may('read:organizations') ? (
              <Link to="/gate/organizations/$organizationId" params={{ organizationId: id }}>
                {text}
              </Link>
            ) : (
              text
            )
          }
          text={name}
        />
      )}
    </List>
  );
}
