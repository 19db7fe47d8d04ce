/** Organizations: who signs in together. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Organization } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { Empty, Loading, Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';

export const organizationsKey = ['gate', 'organizations'];

export const Organizations = gatePage('Organizations', 'read:organizations', () => {
  const { api, may } = useGate();
  const [isMaking, setMaking] = useState(false);
  const [search, setSearch] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: organizationsKey,
    queryFn: ({ signal }) => api.all<Organization>('/organizations', signal),
  });
  if (error) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="organizations" />;
  const wanted = search.trim().toLowerCase();
  const found = data.filter(({ id, name, display_name: text }) =>
    `${id} ${name} ${text}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div className="title">
        <h1>Organizations</h1>
        <span className="grow" />
        {may('create:organizations') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New organization'}
          </Button>
        )}
      </div>
      {isMaking && <NewOrganization />}
      {data.length === 0 ? (
        <Empty title="There are no organizations yet">
          <p>
            An organization is a customer or a team: its members sign in together, by its connections and with its logo,
            and have roles there.
          </p>
        </Empty>
      ) : (
        <section className="panel" aria-label="List of organizations">
          {data.length > 12 && <TextField label="Find an organization" value={search} onChange={setSearch} />}
          {found.length === 0 && <p className="soft">None of the {data.length} is like that.</p>}
          <ul className="rows">
            {found.map(({ id, name, display_name: text }) => (
              <li key={id}>
                <Link to="/gate/organizations/$organizationId" params={{ organizationId: id }} className="row">
                  <span className="grow">
                    <strong>{text}</strong>
                    <span className="soft">{name}</span>
                  </span>
                  <code className="soft id">{id}</code>
                </Link>
              </li>
            ))}
          </ul>
          {data.length === 1_000 && (
            <p className="hint">These are the first 1,000. Others are opened by their address.</p>
          )}
        </section>
      )}
    </>
  );
});

function NewOrganization() {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [displayName, setDisplayName] = useState('');
  const create = useMutation({
    mutationFn: () =>
      api.send<Organization>('POST', '/organizations', {
        name,
        ...(displayName.trim() !== '' && { display_name: displayName }),
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: organizationsKey });
      await navigate({ to: '/gate/organizations/$organizationId', params: { organizationId: id } });
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New organization"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New organization</h2>
      <TextField
        label="Name"
        isRequired
        value={name}
        onChange={setName}
        placeholder="orchard-inc"
        hint="Small letters, digits, - and _. Tokens carry it."
      />
      <TextField
        label="Display Name"
        value={displayName}
        onChange={setDisplayName}
        placeholder="Orchard Inc"
        hint="What people read. Empty: the name."
      />
      {create.error && <Problem error={create.error} />}
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
