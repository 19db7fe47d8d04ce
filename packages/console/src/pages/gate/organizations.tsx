/** Organizations: who signs in together. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Organization } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { ListPage } from './list-page.tsx';

export const organizationsKey = ['gate', 'organizations'];

export const Organizations = gatePage('Organizations', 'read:organizations', () => {
  const { api, may } = useGate();
  const list = useQuery({
    queryKey: organizationsKey,
    queryFn: ({ signal }) => api.all<Organization>('/organizations', signal),
  });
  return (
    <ListPage
      title="Organizations"
      what="an organization"
      list={list}
      textOf={({ id, name, display_name: text }) => `${id} ${name} ${text}`}
      none="An organization is a customer or a team. Its members sign in with its connections and its logo, and have roles in it."
      form={may('create:organizations') && <NewOrganization />}
    >
      {({ id, name, display_name: text }) => (
        <li key={id}>
          <Link to="/gate/organizations/$organizationId" params={{ organizationId: id }} className="row">
            <span className="grow">
              <strong>{text}</strong>
              <span className="soft">{name}</span>
            </span>
            <code className="soft id">{id}</code>
          </Link>
        </li>
      )}
    </ListPage>
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
      <Refusals error={create.error}>
        <TextField
          label="Name"
          name="name"
          isRequired
          value={name}
          onChange={setName}
          placeholder="orchard-inc"
          hint="Lower-case letters, digits, - and _. Tokens contain it."
        />
        <TextField
          label="Display Name"
          name="display_name"
          value={displayName}
          onChange={setDisplayName}
          placeholder="Orchard Inc"
          hint="Shown to users. Leave empty to use the name."
        />
      </Refusals>
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
