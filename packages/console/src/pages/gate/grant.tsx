/** What one application may do at one API on its own behalf; shown from either side. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { ClientGrant, ResourceServer } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Problem } from '../../ui/states.tsx';
import { useGate } from './gate-page.tsx';
import { grantsKey } from './query-keys.ts';
import { ScopeForm } from './scope-form.tsx';

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
  const held = grant?.scope ?? [];
  /** Those held when the form was opened: somebody else may change them meanwhile. */
  const [before, setBefore] = useState(held);
  const [chosen, setChosen] = useState(held);
  const refresh = () => queries.invalidateQueries({ queryKey: grantsKey });
  const save = useMutation({
    mutationFn: async () => {
      if (!grant)
        return api.send('POST', '/client-grants', { client_id: clientId, audience: server.identifier, scope: chosen });
      // The API replaces the whole list.
      const path = `/client-grants/${encodeURIComponent(grant.id)}`;
      const { scope } = await api.get<ClientGrant>(path);
      const kept = scope.filter((value) => chosen.includes(value) || !before.includes(value));
      const given = chosen.filter((value) => !before.includes(value) && !kept.includes(value));
      return api.send('PATCH', path, { scope: [...kept, ...given] });
    },
    onSuccess: async () => {
      await refresh();
      setOpen(false);
    },
  });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', `/client-grants/${encodeURIComponent(grant!.id)}`),
    onSuccess: async () => {
      await refresh();
      setOpen(false);
    },
  });
  const mayChange = may(grant ? 'update:client_grants' : 'create:client_grants');
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
          <Button
            className="button small"
            aria-expanded={isOpen}
            onPress={() => {
              setBefore(held);
              setChosen(held);
              setOpen(!isOpen);
            }}
          >
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
        <ScopeForm
          what="scope"
          offered={server.scopes}
          chosen={chosen}
          onChange={setChosen}
          onSave={() => save.mutate()}
          isPending={save.isPending}
          submit={grant ? 'Save' : 'Authorize'}
        />
      )}
      {(save.error ?? remove.error) && <Problem error={save.error ?? remove.error} />}
    </section>
  );
}
