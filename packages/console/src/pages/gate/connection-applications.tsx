/** Which applications the users of a connection may sign in to. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Connection } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useApplications } from './applications.tsx';
import { Catalogue, CheckboxList } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { connectionsKey } from './query-keys.ts';

export function ConnectionApplications({ connection }: { connection: Connection }) {
  const { api } = useGate();
  const path = `/connections/${encodeURIComponent(connection.id)}/clients`;
  const applications = useApplications();
  const [search, setSearch] = useState('');
  const enabled = useQuery({
    queryKey: [...connectionsKey, connection.id, 'clients'],
    queryFn: async ({ signal }) => {
      const ids: string[] = [];
      let next: string | undefined;
      do {
        const from: string = next === undefined ? '' : `&from=${encodeURIComponent(next)}`;
        const page = await api.get<{ clients: { client_id: string }[]; next?: string }>(
          `${path}?take=100${from}`,
          signal,
        );
        ids.push(...page.clients.map(({ client_id }) => client_id));
        next = page.next;
      } while (next !== undefined);
      return ids;
    },
  });
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (entry: { client_id: string; status: boolean }) => api.send('PATCH', path, [entry]),
    onSuccess: () => queries.invalidateQueries({ queryKey: connectionsKey }),
  });
  const error = applications.error ?? enabled.error;
  if (isInTheWay(error, applications.data && enabled.data))
    return <Problem error={error} onRetry={() => Promise.all([applications.refetch(), enabled.refetch()])} />;
  if (!applications.data || !enabled.data) return <Loading what="applications" />;
  const chosen = enabled.data;
  return (
    <div className="form">
      {applications.data.length > 12 && <TextField label="Find an application" value={search} onChange={setSearch} />}
      <Catalogue label="Applications that may use it">
        <CheckboxList
          legend="Users of this connection can sign in to"
          isDisabled={change.isPending}
          all={applications.data
            .filter(({ app_type: type }) => type !== 'non_interactive')
            .filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
            .sort((a, b) => a.name.localeCompare(b.name))
            .map(({ client_id: value, name: text }) => ({ value, text }))}
          chosen={chosen}
          onChange={(wanted) => {
            const [added] = wanted.filter((id) => !chosen.includes(id));
            const [removed] = chosen.filter((id) => !wanted.includes(id));
            const client_id = added ?? removed;
            if (client_id !== undefined) change.mutate({ client_id, status: added !== undefined });
          }}
        />
      </Catalogue>
      {change.error && <Problem error={change.error} />}
    </div>
  );
}
