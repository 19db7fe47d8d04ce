/** APIs: what access tokens are for. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { ResourceServer } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { counted } from '../numbers.ts';
import { nameOfApi } from './application-apis.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { apisKey } from './query-keys.ts';

export const Apis = gatePage('APIs', 'read:resource_servers', () => {
  const { api, may } = useGate();
  const [isMaking, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: apisKey,
    queryFn: ({ signal }) => api.all<ResourceServer>('/resource-servers', signal),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="APIs" />;
  return (
    <>
      <div className="title">
        <h1>APIs</h1>
        <span className="grow" />
        {may('create:resource_servers') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New API'}
          </Button>
        )}
      </div>
      {isMaking && <NewApi />}
      <section className="panel" aria-label="List of APIs">
        <ul className="rows">
          {data.map((server) => (
            <li key={server.id}>
              <Link to="/gate/apis/$apiId" params={{ apiId: server.id }} className="row">
                <span className="grow">
                  <strong>{nameOfApi(server)}</strong>
                  <span className="soft">{server.identifier}</span>
                </span>
                {server.is_system && <span className="tag">built in</span>}
                <span className="soft">{counted(server.scopes.length, 'scope')}</span>
              </Link>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
});

function NewApi() {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [identifier, setIdentifier] = useState('');
  const create = useMutation({
    mutationFn: () => api.send<ResourceServer>('POST', '/resource-servers', { name, identifier }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: apisKey });
      await navigate({ to: '/gate/apis/$apiId', params: { apiId: id } });
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New API"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New API</h2>
      <Refusals error={create.error}>
        <TextField label="Name" name="name" isRequired value={name} onChange={setName} />
        <TextField
          label="Identifier"
          name="identifier"
          isRequired
          value={identifier}
          onChange={setIdentifier}
          placeholder="https://api.example.com/"
          hint="The audience in requests and tokens. It is never fetched, and cannot be changed later."
        />
      </Refusals>
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
