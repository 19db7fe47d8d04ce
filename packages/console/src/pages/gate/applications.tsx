/** All applications of the gate. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Application, AppType } from '../../api/management-types.ts';
import { Choice, TextField } from '../../ui/fields.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { kinds } from './kinds.ts';

type Listed = Pick<Application, 'client_id' | 'name' | 'app_type' | 'is_first_party' | 'global'>;

export const applicationsKey = ['gate', 'applications'];

/** Application names by id, for lists that contain only ids. */
export function useApplications() {
  const { api, may } = useGate();
  return useQuery({
    queryKey: applicationsKey,
    queryFn: ({ signal }) => api.all<Listed>('/clients?fields=client_id,name,app_type,is_first_party,global', signal),
    enabled: may('read:clients'),
  });
}

export const Applications = gatePage('Applications', 'read:clients', () => {
  const { may } = useGate();
  const { data, error, refetch } = useApplications();
  const [search, setSearch] = useState('');
  const [kind, setKind] = useState<AppType | 'all'>('all');
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="applications" />;
  const wanted = search.trim().toLowerCase();
  const found = data
    .filter(({ app_type }) => kind === 'all' || app_type === kind)
    .filter(({ name, client_id }) => `${name} ${client_id}`.toLowerCase().includes(wanted))
    .sort((a, b) => a.name.localeCompare(b.name));
  return (
    <>
      <div className="title">
        <h1>Applications</h1>
        <span className="grow" />
        {may('create:clients') && (
          <Link to="/gate/applications/new" className="button primary">
            New application
          </Link>
        )}
      </div>
      {data.length === 0 ? (
        <Empty title="There are no applications yet">
          <p>An application is something that users sign in to, or a machine that gets tokens.</p>
        </Empty>
      ) : (
        <section className="panel" aria-label="List of applications">
          <div className="pair narrow">
            <TextField label="Find by name or client ID" value={search} onChange={setSearch} />
            <Choice
              label="Type"
              value={kind}
              onChange={setKind}
              options={{
                all: 'All',
                ...(Object.fromEntries(Object.entries(kinds).map(([key, { short }]) => [key, short])) as Record<
                  AppType,
                  string
                >),
              }}
            />
          </div>
          {found.length === 0 && <p className="soft">No applications match.</p>}
          <ul className="rows">
            {found.map(({ client_id: clientId, name, app_type: type, is_first_party: isFirst }) => (
              <li key={clientId}>
                <Link to="/gate/applications/$clientId" params={{ clientId }} className="row">
                  <span className="grow">
                    <strong>{name}</strong>
                    <span className="soft">{kinds[type]?.text ?? type}</span>
                  </span>
                  {!isFirst && <span className="tag">third party</span>}
                  <code className="soft id">{clientId}</code>
                </Link>
              </li>
            ))}
          </ul>
          {data.length === 1_000 && (
            <p className="hint">Only the first 1,000 are shown, by client ID. Others can be opened by their URL.</p>
          )}
        </section>
      )}
    </>
  );
});
