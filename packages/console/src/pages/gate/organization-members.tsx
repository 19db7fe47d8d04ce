/** An organization's members, and the roles that they have only there. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Member, Organization } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Problem } from '../../ui/states.tsx';
import { Catalogue, CheckboxList } from './fields.tsx';
import { FindPerson } from './find-person.tsx';
import { useGate } from './gate-page.tsx';
import { List } from './list.tsx';
import { organizationKey } from './organization.tsx';
import { useRoles } from './roles.tsx';

export function Members({ organization, path }: { organization: Organization; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const key = [...organizationKey(organization.id), 'members'];
  const list = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.all<Member>(`${path}/members?fields=user_id,name,email,roles`, signal),
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key });
  const add = useMutation({
    mutationFn: (userId: string) => api.send('POST', `${path}/members`, { members: [userId] }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: (userId: string) => api.send('DELETE', `${path}/members`, { members: [userId] }),
    onSuccess: refresh,
  });
  return (
    <List
      title="Members"
      none="There are no members yet."
      list={list}
      problem={add.error ?? remove.error}
      after={
        may('create:organization_members') &&
        may('read:users') && (
          <FindPerson
            label="Add a member"
            known={list.data?.map(({ user_id: id }) => id) ?? []}
            onAdd={add.mutate}
            isPending={add.isPending}
          />
        )
      }
    >
      {(member) => (
        <One
          key={member.user_id}
          member={member}
          path={path}
          listKey={key}
          organization={organization}
          onRemove={() => remove.mutate(member.user_id)}
        />
      )}
    </List>
  );
}

function One({
  member: { user_id: userId, name, email, roles = [] },
  organization,
  path,
  listKey,
  onRemove,
}: {
  member: Member;
  organization: Organization;
  path: string;
  listKey: readonly unknown[];
  onRemove: () => void;
}) {
  const { may } = useGate();
  const [isOpen, setOpen] = useState(false);
  const mayChange = ['read:roles', 'create:organization_member_roles', 'delete:organization_member_roles'].every(may);
  return (
    <li>
      <div className="row">
        <span className="grow">
          <strong>
            {may('read:users') ? (
              <Link to="/gate/users/$userId" params={{ userId }}>
                {name}
              </Link>
            ) : (
              name
            )}
          </strong>
          <span className="soft">{email ?? userId}</span>
        </span>
        {roles.map((role) => (
          <span key={role.id} className="tag">
            {role.name}
          </span>
        ))}
        {mayChange && (
          <Button
            className="button small"
            aria-label={`${isOpen ? 'Close roles' : 'Roles'} of ${name}`}
            aria-expanded={isOpen}
            onPress={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Close' : 'Roles'}
          </Button>
        )}
        {may('delete:organization_members') && (
          <Confirm
            label="Remove"
            about={name}
            size="small"
            title={`Remove ${name} from ${organization.display_name}?`}
            action="Remove the member"
            onConfirm={onRemove}
          >
            <p>Their roles in the organization and their grants for it end immediately. They keep their account.</p>
          </Confirm>
        )}
      </div>
      {isOpen && <MemberRoles userId={userId} path={path} listKey={listKey} chosen={roles.map(({ id }) => id)} />}
    </li>
  );
}

function MemberRoles({
  userId,
  path,
  listKey,
  chosen,
}: {
  userId: string;
  path: string;
  listKey: readonly unknown[];
  chosen: string[];
}) {
  const { api } = useGate();
  const queries = useQueryClient();
  const all = useRoles();
  const change = useMutation({
    mutationFn: ({ method, role }: { method: 'POST' | 'DELETE'; role: string }) =>
      api.send(method, `${path}/members/${encodeURIComponent(userId)}/roles`, { roles: [role] }),
    onSuccess: () => queries.invalidateQueries({ queryKey: listKey }),
  });
  return (
    <div className="form">
      <Catalogue label="All roles">
        <CheckboxList
          legend="Roles within this organization"
          isDisabled={change.isPending}
          all={(all.data ?? []).map(({ id: value, name: text }) => ({ value, text }))}
          chosen={chosen}
          onChange={(wanted) => {
            const added = wanted.find((id) => !chosen.includes(id));
            const removed = chosen.find((id) => !wanted.includes(id));
            if (added !== undefined) change.mutate({ method: 'POST', role: added });
            else if (removed !== undefined) change.mutate({ method: 'DELETE', role: removed });
          }}
        />
      </Catalogue>
      {(all.error ?? change.error) && <Problem error={all.error ?? change.error} />}
    </div>
  );
}
