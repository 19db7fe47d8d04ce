/** One person: profile, sessions, applications acting for them, and history. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Identity, LogEntry, User } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { useTitle } from '../../ui/title.ts';
import { DeletePanel } from './delete-panel.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Head } from './head.tsx';
import { Entries } from './log-entries.tsx';
import { Permissions } from './permissions.tsx';
import { userKey } from './query-keys.ts';
import { Devices, Grants, Sessions } from './user-access.tsx';
import { UserFactors } from './user-factors.tsx';
import { UserProfile } from './user-profile.tsx';
import { UserOrganizations, UserRoles } from './user-roles.tsx';

const usersList = { to: '/gate/users', key: ['gate', 'users'] } as const;

export const UserPage = gatePage('User', 'read:users', ({ userId }: { userId: string }) => {
  const { api, may } = useGate();
  const path = `/users/${encodeURIComponent(userId)}`;
  const { data, error, refetch } = useQuery({
    queryKey: userKey(userId),
    queryFn: ({ signal }) => api.get<User>(path, signal),
  });
  const [isEditing, setEditing] = useState(false);
  // What was found when this person was chosen from it.
  const found = useLocation({ select: ({ state }) => state.usersSearch }) ?? {};
  useTitle(data?.name ?? 'User');
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the user" />;
  return (
    <>
      <Head
        back={
          <Link to="/gate/users" search={found}>
            Users
          </Link>
        }
        name={data.name}
      >
        {data.blocked && <span className="tag bad">blocked</span>}
      </Head>
      <section className="panel" aria-label="Profile">
        <dl className="facts">
          <Fact name="User ID">
            <code>{data.user_id}</code>
          </Fact>
          {data.email && (
            <Fact name="Email">
              {data.email} <span className="tag">{data.email_verified ? 'confirmed' : 'not confirmed'}</span>
            </Fact>
          )}
          {data.phone_number && <Fact name="Phone">{data.phone_number}</Fact>}
          {data.username && <Fact name="Username">{data.username}</Fact>}
          <Fact name="Signs in with">{data.identities.map(({ connection }) => connection).join(', ')}</Fact>
          <Fact name="Sign-ins">
            {data.logins_count}
            {data.last_login && (
              <>
                , last <Time at={data.last_login} /> from {data.last_ip}
              </>
            )}
          </Fact>
          <Fact name="Created">
            <Time at={data.created_at} exact />
          </Fact>
          {Object.keys(data.app_metadata).length > 0 && (
            <Fact name="app_metadata">
              <code>{JSON.stringify(data.app_metadata)}</code>
            </Fact>
          )}
          {Object.keys(data.user_metadata).length > 0 && (
            <Fact name="user_metadata">
              <code>{JSON.stringify(data.user_metadata)}</code>
            </Fact>
          )}
        </dl>
        {may('update:users') && (
          <UserActions
            user={data}
            path={path}
            edit={
              <Button className="button" aria-expanded={isEditing} onPress={() => setEditing(!isEditing)}>
                {isEditing ? 'Close' : 'Edit'}
              </Button>
            }
          />
        )}
      </section>
      {isEditing && <UserProfile key={userId} user={data} path={path} />}
      <UserRoles user={data} path={path} />
      <Permissions
        key={userId}
        path={path}
        queryKey={userKey(userId)}
        mayChange={may('update:users')}
        none="There are no permissions, neither from roles nor assigned directly."
      />
      <UserOrganizations user={data} path={path} />
      <UserFactors user={data} path={path} />
      {may('read:sessions') && <Sessions userId={userId} path={path} />}
      {may('read:refresh_tokens') && <Devices userId={userId} path={path} />}
      {may('read:grants') && <Grants userId={userId} />}
      {may('read:logs') && <History path={path} />}
      {may('delete:users') && (
        <DeletePanel what="user" name={data.name} path={path} list={usersList} itemKey={userKey(userId)}>
          The account is deleted, and its sessions and tokens end immediately. This cannot be undone.
        </DeletePanel>
      )}
    </>
  );
});

/** Blocks and unblocks, and makes the link for a new password: the API has no operation that mails it. */
function UserActions({ user, path, edit }: { user: User; path: string; edit: ReactNode }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['gate'] });
  const block = useMutation({
    mutationFn: (blocked: boolean) => api.send('PATCH', path, { blocked }),
    onSuccess: refresh,
  });
  const database = user.identities.find(({ provider }) => provider === 'auth0');
  const reset = useMutation({
    mutationFn: ({ provider, user_id }: Identity) =>
      api.send<{ ticket: string }>('POST', '/tickets/password-change', {
        user_id: user.user_id,
        identity: { provider, user_id },
      }),
  });
  const blocks = useQuery({
    queryKey: [...userKey(user.user_id), 'blocks'],
    queryFn: ({ signal }) =>
      api.get<{ blocked_for: { identifier: string; ip?: string }[] }>(
        `/user-blocks/${encodeURIComponent(user.user_id)}`,
        signal,
      ),
  });
  const open = useMutation({
    mutationFn: () => api.send('DELETE', `/user-blocks/${encodeURIComponent(user.user_id)}`),
    onSuccess: refresh,
  });
  const shutOut = blocks.data?.blocked_for ?? [];
  const error = block.error ?? reset.error ?? open.error;
  return (
    <>
      {shutOut.length > 0 && (
        <p className="note">
          Too many wrong passwords: sign-ins
          {shutOut.some(({ ip }) => ip) ? ` from ${shutOut.flatMap(({ ip }) => ip ?? []).join(', ')}` : ''} are paused
          for a few minutes.{' '}
          <Button className="button small" isDisabled={open.isPending} onPress={() => open.mutate()}>
            Resume sign-ins
          </Button>
        </p>
      )}
      <div className="actions">
        {edit}
        {user.blocked ? (
          <Button className="button" isDisabled={block.isPending} onPress={() => block.mutate(false)}>
            Unblock
          </Button>
        ) : (
          <Confirm
            label="Block"
            title={`Block ${user.name}?`}
            action="Block the user"
            onConfirm={() => block.mutate(true)}
          >
            <p>Their sessions and tokens end immediately, and they cannot sign in until somebody unblocks them.</p>
          </Confirm>
        )}
        {database && may('create:user_tickets') && (
          <Button className="button" isDisabled={reset.isPending} onPress={() => reset.mutate(database)}>
            Create a password reset link
          </Button>
        )}
      </div>
      {reset.data && (
        <p className="note" role="status">
          Send this link to the user. It works once, for five days, and is not shown again:{' '}
          <code className="url">{reset.data.ticket}</code> <Copy text={reset.data.ticket} />
        </p>
      )}
      {error && <Problem error={error} />}
    </>
  );
}

function History({ path }: { path: string }) {
  const { api } = useGate();
  const list = useQuery({
    queryKey: ['gate', 'log', path],
    queryFn: ({ signal }) => api.get<LogEntry[]>(`${path}/logs?per_page=25`, signal),
    refetchInterval: 10_000,
  });
  return (
    <section className="panel" aria-label="Log">
      <h2>Log</h2>
      {isInTheWay(list.error, list.data) ? (
        <Problem error={list.error} onRetry={list.refetch} />
      ) : !list.data ? (
        <Loading what="the log" />
      ) : list.data.length === 0 ? (
        <p className="soft">There are no entries yet.</p>
      ) : (
        <Entries entries={list.data} />
      )}
    </section>
  );
}
