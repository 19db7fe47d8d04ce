/** What one application may do at one API on its own behalf; shown from either side. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { ClientGrant, ResourceServer } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { Catalogue, CheckboxList } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { grantsKey } from './query-keys.ts';

export function Grant({
  title,
  subtitle,
  server,
  clientId,
  grant,
}: {
  title: string;
  subtitle: string;
  server: ResourceServer;
  clientId: string;
  grant: ClientGrant | undefined;
}) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const [scope, setScope] = useState(grant?.scope ?? []);
  const refresh = () => queries.invalidateQueries({ queryKey: grantsKey });
  const save = useMutation({
    mutationFn: () =>
      grant
        ? api.send('PATCH', `/client-grants/${encodeURIComponent(grant.id)}`, { scope })
        : api.send('POST', '/client-grants', { client_id: clientId, audience: server.identifier, scope }),
    onSuccess: async () => {
      await refresh();
      setOpen(false);
    },
  });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', `/client-grants/${encodeURIComponent(grant!.id)}`),
    onSuccess: async () => {
      await refresh();
      setScope([]);
      setOpen(false);
    },
  });
  const mayChange = may(grant ? 'update:client_grants' : 'create:client_grants');
  const wanted = search.toLowerCase();
  return (
    <section className="panel" aria-label={title}>
      <div className="title">
        <div className="grow">
          <h2>{title}</h2>
          <span className="soft url">{subtitle}</span>
        </div>
        <span className={grant ? 'tag good' : 'tag'}>
          {grant ? `${grant.scope.length} of ${server.scopes.length} scopes` : 'not authorized'}
        </span>
        {mayChange && (
          <Button className="button small" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
            {isOpen ? 'Close' : grant ? 'Change' : 'Authorize'}
          </Button>
        )}
        {grant && may('delete:client_grants') && (
          <Confirm
            label="Remove"
            about={`the authorization for ${title}`}
            title={`Remove the authorization for ${title}?`}
            action="Remove authorization"
            onConfirm={() => remove.mutate()}
          >
            <p>
              The application can no longer get tokens for this API on its own. Tokens already issued stay valid until
              they expire.
            </p>
          </Confirm>
        )}
      </div>
      {isOpen && (
        <div className="form">
          {server.scopes.length > 12 && <TextField label="Find a scope" value={search} onChange={setSearch} />}
          <div className="actions">
            <Button className="button small" onPress={() => setScope(server.scopes.map(({ value }) => value))}>
              All
            </Button>
            <Button className="button small" onPress={() => setScope([])}>
              None
            </Button>
          </div>
          <Catalogue label="All scopes">
            <CheckboxList
              legend="Scopes"
              all={server.scopes
                .filter(({ value, description = '' }) => `${value} ${description}`.toLowerCase().includes(wanted))
                .map(({ value, description }) => ({
                  value,
                  text: (
                    <>
                      <code>{value}</code> <span className="soft">{description}</span>
                    </>
                  ),
                }))}
              chosen={scope}
              onChange={setScope}
            />
          </Catalogue>
          <Button className="button primary" isDisabled={save.isPending} onPress={() => save.mutate()}>
            {grant ? 'Save' : 'Authorize'}
          </Button>
        </div>
      )}
      {(save.error ?? remove.error) && <Problem error={save.error ?? remove.error} />}
    </section>
  );
}
