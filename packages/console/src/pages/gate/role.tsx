/** One role: its name, its permissions, and the people who have it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Member, Role } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Checkbox, TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useTitle } from '../../ui/title.ts';
import { changesOf } from '../changes.ts';
import { DeletePanel } from './delete-panel.tsx';
import { FindPerson } from './find-person.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Head, Id } from './head.tsx';
import { List, Row } from './list.tsx';
import { Permissions } from './permissions.tsx';
import { rolesKey } from './roles.tsx';
import { SettingsForm, useSettings } from './settings-form.tsx';

const roleKey = (roleId: string) => ['gate', 'role', roleId];
const rolesList = { to: '/gate/roles', key: rolesKey } as const;

export const RolePage = gatePage('Role', 'read:roles', ({ roleId }: { roleId: string }) => {
  const { api, may } = useGate();
  const path = `/roles/${encodeURIComponent(roleId)}`;
  const { data, error, refetch } = useQuery({
    queryKey: roleKey(roleId),
    queryFn: ({ signal }) => api.get<Role>(path, signal),
  });
  useTitle(data?.name ?? 'Role');
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the role" />;
  return (
    <>
      <Head back={<Link to="/gate/roles">Roles</Link>} name={data.name}>
        {data.is_default && <span className="tag">assigned to everybody</span>}
      </Head>
      <Id what="Role ID" id={data.id} />
      {may('update:roles') ? (
        <Settings key={roleId} role={data} path={path} />
      ) : (
        data.description && <p className="soft">{data.description}</p>
      )}
      <Permissions
        key={`${roleId} permissions`}
        path={path}
        queryKey={roleKey(roleId)}
        mayChange={may('update:roles')}
        none="There are no permissions yet."
      />
      <Holders role={data} path={path} />
      {may('delete:roles') && (
        <DeletePanel what="role" name={data.name} path={path} list={rolesList} itemKey={roleKey(roleId)}>
          Users who have it lose its permissions. This cannot be undone.
        </DeletePanel>
      )}
    </>
  );
});

function Settings({ role, path }: { role: Role; path: string }) {
  const { api } = useGate();
  const queries = useQueryClient();
  const { form, save, change } = useSettings(
    role,
    formOf,
    (saved, now) => api.send<Role>('PATCH', path, changesOf(formOf(saved), now)),
    (changed) => {
      queries.setQueryData(roleKey(role.id), changed);
      return queries.invalidateQueries({ queryKey: rolesKey });
    },
  );
  return (
    <SettingsForm label="Settings" save={save} onSave={() => save.mutate()}>
      <h2>Settings</h2>
      <TextField label="Name" isRequired value={form.name} onChange={(name) => change({ name })} />
      <TextField label="Description" value={form.description} onChange={(description) => change({ description })} />
      <Checkbox isSelected={form.is_default} onChange={(is_default) => change({ is_default })}>
        Assigned to everybody, including new users
      </Checkbox>
    </SettingsForm>
  );
}

const formOf = ({ name, description = '', is_default = false }: Role) => ({ name, description, is_default });

function Holders({ role, path }: { role: Role; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const key = [...roleKey(role.id), 'users'];
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => api.all<Member>(`${path}/users`, signal) });
  const refresh = () => queries.invalidateQueries({ queryKey: key });
  const add = useMutation({
    mutationFn: (userId: string) => api.send('POST', `${path}/users`, { users: [userId] }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: (userId: string) =>
      api.send('DELETE', `/users/${encodeURIComponent(userId)}/roles`, { roles: [role.id] }),
    onSuccess: refresh,
  });
  return (
    <List
      title="Users"
      none={role.is_default ? 'Everybody has it. It is not assigned to individual users.' : 'No users have it yet.'}
      list={list}
      problem={add.error ?? remove.error}
      after={
        may('update:roles') &&
        may('read:users') && (
          <FindPerson
            label="Assign to"
            known={list.data?.map(({ user_id: id }) => id) ?? []}
            onAdd={add.mutate}
            isPending={add.isPending}
          />
        )
      }
    >
      {({ user_id: userId, name, email }) => (
        <Row
          key={userId}
          title={
            may('read:users') ? (
              <Link to="/gate/users/$userId" params={{ userId }}>
                {name}
              </Link>
            ) : (
              name
            )
          }
          text={email ?? userId}
        >
          {may('update:users') && (
            <Confirm
              label="Remove"
              about={name}
              size="small"
              title={`Remove ${role.name} from ${name}?`}
              action="Remove the role"
              onConfirm={() => remove.mutate(userId)}
            >
              <p>Their next token no longer has its permissions. The management API applies the change immediately.</p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}
