/** Roles: named bundles of permissions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Role } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { ListPage } from './list-page.tsx';

export const rolesKey = ['gate', 'roles'];

export function useRoles() {
  const { api, may } = useGate();
  return useQuery({
    queryKey: rolesKey,
    queryFn: ({ signal }) => api.all<Role>('/roles', signal),
    enabled: may('read:roles'),
  });
}

export const Roles = gatePage('Roles', 'read:roles', () => {
  const { may } = useGate();
  return (
    <ListPage
      title="Roles"
      what="a role"
      list={useRoles()}
      textOf={({ name, description = '' }) => `${name} ${description}`}
      none="A role gives users permissions of your APIs and of the management API."
      form={may('create:roles') && <NewRole />}
    >
      {(role) => (
        <li key={role.id}>
          <Link to="/gate/roles/$roleId" params={{ roleId: role.id }} className="row">
            <span className="grow">
              <strong>{role.name}</strong>
              <span className="soft">{role.description}</span>
            </span>
            {role.is_default && <span className="tag">assigned to everybody</span>}
          </Link>
        </li>
      )}
    </ListPage>
  );
});

function NewRole() {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = useMutation({
    mutationFn: () => api.send<Role>('POST', '/roles', { name, ...(description !== '' && { description }) }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: rolesKey });
      await navigate({ to: '/gate/roles/$roleId', params: { roleId: id } });
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New role"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New role</h2>
      <TextField label="Name" isRequired value={name} onChange={setName} />
      <TextField label="Description" value={description} onChange={setDescription} />
      {create.error && <Problem error={create.error} />}
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
