/** Which APIs an application gets tokens for on its own behalf (client credentials), and with which scopes. */
import { useQuery } from '@tanstack/react-query';
import type { Application, ClientGrant, ResourceServer } from '../../api/management-types.ts';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useGate } from './gate-page.tsx';
import { Grant } from './grant.tsx';
import { apisKey, grantsKey } from './query-keys.ts';

/** The built-in API has Auth0's name, which tools know. */
export const nameOfApi = ({ is_system: isSystem, name }: Pick<ResourceServer, 'is_system' | 'name'>): string =>
  isSystem ? 'Management API' : name;

export function ApplicationApis({ application }: { application: Application }) {
  const { api } = useGate();
  const apis = useQuery({
    queryKey: apisKey,
    queryFn: ({ signal }) => api.all<ResourceServer>('/resource-servers', signal),
  });
  const grants = useQuery({
    queryKey: [...grantsKey, 'of', application.client_id],
    queryFn: ({ signal }) =>
      api.all<ClientGrant>(`/client-grants?client_id=${encodeURIComponent(application.client_id)}`, signal),
  });
  const error = apis.error ?? grants.error;
  if (isInTheWay(error, apis.data && grants.data))
    return <Problem error={error} onRetry={() => Promise.all([apis.refetch(), grants.refetch()])} />;
  if (!apis.data || !grants.data) return <Loading what="APIs" />;
  const isMachine = application.grant_types.includes('client_credentials');
  return (
    <>
      <p className="soft">
        {isMachine
          ? 'What the application can access on its own, with client credentials.'
          : 'It does not have the grant type Client Credentials, so it only gets tokens for users.'}{' '}
        {application.grant_types.includes('authorization_code') &&
          'When a user signs in, it can request any scope of an API, and gets the scopes that the user has and allows.'}
      </p>
      {isMachine &&
        apis.data.map((server) => (
          <Grant
            key={server.id}
            title={nameOfApi(server)}
            subtitle={server.identifier}
            server={server}
            clientId={application.client_id}
            grant={grants.data.find(({ audience }) => audience === server.identifier)}
          />
        ))}
    </>
  );
}
