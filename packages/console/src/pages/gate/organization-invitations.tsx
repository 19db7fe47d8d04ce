/** Invitations to an organization. An invitation's link is shown once, when it is created: the gate keeps only its hash. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Application, Invitation, Organization } from '../../api/management-types.ts';
import { useConsole } from '../../session/context.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { useApplications } from './applications.tsx';
import { CheckboxList } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { List, Row } from './list.tsx';
import { organizationKey } from './organization.tsx';
import { useRoles } from './roles.tsx';

export function Invitations({ organization, path }: { organization: Organization; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const applications = useApplications();
  const key = [...organizationKey(organization.id), 'invitations'];
  const list = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.all<Invitation>(`${path}/invitations`, signal),
  });
  const remove = useMutation({
    mutationFn: (id: string) => api.send('DELETE', `${path}/invitations/${encodeURIComponent(id)}`),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
  });
  const nameOf = (clientId: string) =>
    applications.data?.find(({ client_id: id }) => id === clientId)?.name ?? clientId;
  return (
    <>
      <List title="Invitations" none="There are no pending invitations." list={list} problem={remove.error}>
        {(invitation) => (
          <Row
            key={invitation.id}
            title={invitation.invitee.email}
            text={
              <>
                by {invitation.inviter.name}, to {nameOf(invitation.client_id)}; expires{' '}
                <Time at={invitation.expires_at} />
              </>
            }
          >
            {may('delete:organization_invitations') && (
              <Confirm
                label="Revoke"
                size="small"
                title={`Revoke the invitation of ${invitation.invitee.email}?`}
                action="Revoke invitation"
                onConfirm={() => remove.mutate(invitation.id)}
              >
                <p>Its link will no longer work.</p>
              </Confirm>
            )}
          </Row>
        )}
      </List>
      {may('create:organization_invitations') && may('read:clients') && <Invite path={path} listKey={key} />}
    </>
  );
}

/** Applications that allow signing in to organizations: first those that say where an invitation leads, which it needs. */
function useDoors() {
  const { api } = useGate();
  type Listed = Pick<Application, 'client_id' | 'name' | 'organization_usage' | 'initiate_login_uri'>;
  return useQuery({
    queryKey: ['gate', 'applications', 'for organizations'],
    queryFn: ({ signal }) =>
      api.all<Listed>('/clients?fields=client_id,name,organization_usage,initiate_login_uri', signal),
    select: (all) =>
      all
        .filter(({ organization_usage: usage = 'deny' }) => usage !== 'deny')
        .sort((a, b) => Number(!a.initiate_login_uri) - Number(!b.initiate_login_uri)),
  });
}

function Invite({ path, listKey }: { path: string; listKey: readonly unknown[] }) {
  const { api } = useGate();
  const { session } = useConsole();
  const queries = useQueryClient();
  const applications = useDoors();
  const roles = useRoles();
  const [email, setEmail] = useState('');
  const [inviter, setInviter] = useState(session.person.name);
  const [application, setApplication] = useState('');
  const [chosen, setChosen] = useState<string[]>([]);
  const [isMailed, setMailed] = useState(true);
  const clientId = application || applications.data?.[0]?.client_id || '';
  const create = useMutation({
    mutationFn: () =>
      api.send<Invitation>('POST', `${path}/invitations`, {
        invitee: { email },
        inviter: { name: inviter },
        client_id: clientId,
        ...(chosen.length > 0 && { roles: chosen }),
        send_invitation_email: isMailed,
      }),
    onSuccess: async () => {
      setEmail('');
      await queries.invalidateQueries({ queryKey: listKey });
    },
  });
  const link = create.data?.invitation_url;
  return (
    <Form
      className="panel form"
      aria-label="Invite a member"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>Invite a member</h2>
      {applications.error && <Problem error={applications.error} onRetry={applications.refetch} />}
      {applications.data?.length === 0 ? (
        <p className="note">
          No application allows signing in to organizations yet. Change that under “Organizations” in its settings.
        </p>
      ) : (
        <>
          <TextField label="Email" type="email" isRequired value={email} onChange={setEmail} />
          <TextField
            label="Invited by"
            isRequired
            value={inviter}
            onChange={setInviter}
            hint="Shown in the email and on the sign-in page."
          />
          <Select
            label="Application"
            value={clientId}
            onChange={setApplication}
            options={(applications.data ?? []).map(({ client_id: id, name }) => [id, name] as const)}
          />
          {roles.data && roles.data.length > 0 && (
            <CheckboxList
              legend="Roles in the organization"
              all={roles.data.map(({ id: value, name: text }) => ({ value, text }))}
              chosen={chosen}
              onChange={setChosen}
            />
          )}
          <Checkbox isSelected={isMailed} onChange={setMailed}>
            Email the link
          </Checkbox>
          {create.error && <Problem error={create.error} />}
          <Button className="button primary" type="submit" isDisabled={create.isPending || clientId === ''}>
            {create.isPending ? 'Inviting …' : 'Invite'}
          </Button>
        </>
      )}
      {link !== undefined && (
        <p className="note" role="status">
          Invitation link (not shown again): <code className="url">{link}</code> <Copy text={link} />
        </p>
      )}
    </Form>
  );
}
