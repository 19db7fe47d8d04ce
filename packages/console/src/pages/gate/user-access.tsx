/** A person's sessions and the access given to applications: each can be ended. */
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Consent, RefreshToken, UserSession } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Time } from '../../ui/time.tsx';
import { useApplications } from './applications.tsx';
import { useGate } from './gate-page.tsx';
import { List, Row } from './list.tsx';
import { userKey } from './query-keys.ts';

function useRevoke(userId: string, path: (id: string) => string): UseMutationResult<unknown, Error, string> {
  const { api } = useGate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api.send('DELETE', path(id)),
    onSuccess: () => queries.invalidateQueries({ queryKey: userKey(userId) }),
  });
}

export function Sessions({ userId, path }: { userId: string; path: string }) {
  const { api, may } = useGate();
  const list = useQuery({
    queryKey: [...userKey(userId), 'sessions'],
    queryFn: ({ signal }) => api.get<{ sessions: UserSession[] }>(`${path}/sessions?take=100`, signal),
    select: ({ sessions }) => sessions,
  });
  const end = useRevoke(userId, (id) => (id === '' ? `${path}/sessions` : `/sessions/${encodeURIComponent(id)}`));
  const nameOf = useNames();
  return (
    <List
      title="Sessions"
      none="There are no sessions."
      list={list}
      problem={end.error}
      after={
        may('delete:sessions') &&
        (list.data?.length ?? 0) > 1 && (
          <Confirm
            label="End all sessions"
            size="small"
            title="End all sessions?"
            action="End sessions"
            onConfirm={() => end.mutate('')}
          >
            <p>The user is signed out in every browser. Applications keep the tokens they have.</p>
          </Confirm>
        )
      }
    >
      {(session) => (
        <Row
          key={session.id}
          title={
            <>
              Signed in <Time at={session.authenticated_at} />
              {session.authentication.methods.length > 0 &&
                ` with ${session.authentication.methods.map(({ name }) => name).join(' and ')}`}
            </>
          }
          text={
            <>
              {session.clients.map(({ client_id }) => nameOf(client_id)).join(', ') || 'no application'}; expires{' '}
              <Time at={session.expires_at} />
              {session.device && `; last used from ${session.device.last_ip} with ${session.device.last_user_agent}`}
            </>
          }
        >
          {may('delete:sessions') && (
            <Confirm
              label="End"
              title="End this session?"
              action="End the session"
              onConfirm={() => end.mutate(session.id)}
            >
              <p>The user is signed out in that browser. Applications keep the tokens they have.</p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}

export function Devices({ userId, path }: { userId: string; path: string }) {
  const { api, may } = useGate();
  const list = useQuery({
    queryKey: [...userKey(userId), 'devices'],
    queryFn: ({ signal }) =>
      api.get<{ tokens?: RefreshToken[]; refresh_tokens?: RefreshToken[] }>(`${path}/refresh-tokens?take=100`, signal),
    select: ({ tokens, refresh_tokens }) => tokens ?? refresh_tokens ?? [],
  });
  const end = useRevoke(userId, (id) =>
    id === '' ? `${path}/refresh-tokens` : `/refresh-tokens/${encodeURIComponent(id)}`,
  );
  const nameOf = useNames();
  return (
    <List
      title="Devices"
      none="No application has a refresh token."
      list={list}
      problem={end.error}
      after={
        may('delete:refresh_tokens') &&
        (list.data?.length ?? 0) > 1 && (
          <Confirm
            label="Revoke all devices"
            size="small"
            title="Revoke the access of all devices?"
            action="Revoke access"
            onConfirm={() => end.mutate('')}
          >
            <p>All refresh tokens and the tokens issued from them end. The user has to sign in again everywhere.</p>
          </Confirm>
        )
      }
    >
      {(token) => (
        <Row
          key={token.id}
          title={nameOf(token.client_id)}
          text={
            <>
              since <Time at={token.created_at} />
              {token.resource_servers.length > 0 &&
                `, for ${token.resource_servers.map(({ audience }) => audience).join(', ')}`}
              {token.idle_expires_at && (
                <>
                  ; unused it ends <Time at={token.idle_expires_at} />
                </>
              )}
            </>
          }
        >
          {may('delete:refresh_tokens') && (
            <Confirm
              label="Revoke"
              title={`Revoke the access of ${nameOf(token.client_id)}?`}
              action="Revoke it"
              onConfirm={() => end.mutate(token.id)}
            >
              <p>The refresh token and the tokens issued from it end. The user has to sign in again on that device.</p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}

export function Grants({ userId }: { userId: string }) {
  const { api, may } = useGate();
  const list = useQuery({
    queryKey: [...userKey(userId), 'grants'],
    queryFn: ({ signal }) => api.all<Consent>(`/grants?user_id=${encodeURIComponent(userId)}`, signal),
  });
  const end = useRevoke(userId, (id) => `/grants/${encodeURIComponent(id)}`);
  const nameOf = useNames();
  return (
    <List
      title="Authorized applications"
      none="This user has not authorized any applications."
      list={list}
      problem={end.error}
    >
      {(grant) => (
        <Row
          key={grant.id}
          title={nameOf(grant.clientID)}
          text={`${grant.scope.join(' ')}${grant.audience ? ` at ${grant.audience}` : ''}`}
        >
          {may('delete:grants') && (
            <Confirm
              label="Revoke"
              title={`Revoke the authorization of ${nameOf(grant.clientID)}?`}
              action="Revoke it"
              onConfirm={() => end.mutate(grant.id)}
            >
              <p>Its tokens for this user end, and it has to ask for consent again.</p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}

function useNames(): (clientId: string) => string {
  const { data } = useApplications();
  return (clientId) => data?.find(({ client_id }) => client_id === clientId)?.name ?? clientId;
}
