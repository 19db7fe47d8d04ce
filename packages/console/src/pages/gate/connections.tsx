/** Connections: where accounts come from. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Connection } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { ConnectionApplications } from './connection-applications.tsx';
import { DatabaseSettings } from './database-settings.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { NewConnection } from './new-connection.tsx';
import { ProviderSettings } from './provider-settings.tsx';
import { connectionsKey } from './query-keys.ts';
import { strategies } from './strategies.ts';

export const Connections = gatePage('Connections', 'read:connections', () => {
  const { api, may } = useGate();
  const [isMaking, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: connectionsKey,
    queryFn: ({ signal }) => api.all<Connection>('/connections', signal),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="connections" />;
  return (
    <>
      <div className="title">
        <h1>Connections</h1>
        <span className="grow" />
        {may('create:connections') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New connection'}
          </Button>
        )}
      </div>
      {isMaking && <NewConnection known={data} onMade={() => setMaking(false)} />}
      {data.length === 0 && (
        <Empty title="There are no connections yet">
          <p>Without a connection, nobody can sign in.</p>
        </Empty>
      )}
      {data.map((connection) => (
        <One key={connection.id} connection={connection} />
      ))}
    </>
  );
});

function One({ connection }: { connection: Connection }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [open, setOpen] = useState<'clients' | 'settings'>();
  const options = strategies[connection.strategy]?.options;
  const isDatabase = connection.strategy === 'auth0';
  const refresh = () => queries.invalidateQueries({ queryKey: connectionsKey });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', `/connections/${encodeURIComponent(connection.id)}`),
    onSuccess: refresh,
  });
  return (
    <section className="panel" aria-label={connection.name}>
      <div className="title">
        <div className="grow">
          <h2>{connection.name}</h2>
          <span className="soft">{strategies[connection.strategy]?.text ?? connection.strategy}</span>
        </div>
        {may('update:connections') && may('read:clients') && (
          <Toggle
            text="Applications"
            isOpen={open === 'clients'}
            onChange={(is) => setOpen(is ? 'clients' : undefined)}
          />
        )}
        {(options || isDatabase) && may('update:connections') && (
          <Toggle
            text="Settings"
            isOpen={open === 'settings'}
            onChange={(is) => setOpen(is ? 'settings' : undefined)}
          />
        )}
        {may('delete:connections') && (
          <Confirm
            label="Delete"
            title={`Delete ${connection.name}?`}
            action="Delete the connection and its users"
            onConfirm={() => remove.mutate()}
          >
            <p>
              <strong>All users of this connection are deleted with it</strong>, including their sessions, tokens and
              grants. This cannot be undone.
            </p>
          </Confirm>
        )}
      </div>
      {open === 'clients' && <ConnectionApplications connection={connection} />}
      {open === 'settings' &&
        (isDatabase ? <DatabaseSettings connection={connection} /> : <ProviderSettings connection={connection} />)}
      {remove.error && <Problem error={remove.error} />}
    </section>
  );
}

function Toggle({ text, isOpen, onChange }: { text: string; isOpen: boolean; onChange: (is: boolean) => void }) {
  return (
    <Button className="button small" aria-expanded={isOpen} onPress={() => onChange(!isOpen)}>
      {isOpen ? `Close ${text.toLowerCase()}` : text}
    </Button>
  );
}
