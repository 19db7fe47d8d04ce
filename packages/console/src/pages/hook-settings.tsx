import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Place } from '../api/place.ts';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/states.tsx';
import { cacheHook } from './cache-hook.ts';
import { changesOf, withLater } from './changes.ts';
import { type HookForm, HookFormFields, toHookBody } from './hook-form.tsx';
import { HookSecret } from './hook-secret.tsx';

export function HookSettings({ place, path, hook }: { place: Place; path: string; hook: Hook }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [before, setBefore] = useState(() => formOf(hook));
  const [form, setForm] = useState(before);
  const save = useMutation({
    mutationFn: async () => {
      const { events, retry, headers, ...parts } = changesOf(before, form);
      // The API replaces the whole config.
      const config =
        Object.keys(parts).length > 0 && toHookBody({ ...formOf(await api.get<Hook>(path)), ...parts }).config;
      const changed = await api.send<Hook>('PATCH', path, {
        ...(config && { config }),
        ...(events && { events }),
        ...(retry && { retry }),
        ...(headers && { request_headers: toHookBody(form).request_headers }),
      });
      return { sent: form, changed };
    },
    onSuccess: ({ sent, changed }) => {
      cacheHook(queries, path, changed);
      setBefore(formOf(changed));
      setForm((now) => withLater(formOf(changed), sent, now));
      return queries.invalidateQueries({ queryKey: ['hooks', place.owner] });
    },
  });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', path),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['hooks', place.owner] });
      await navigate({ to: '/accounts/$owner', params: { owner: place.owner }, ignoreBlocker: true });
    },
  });
  return (
    <>
      <HookFormFields
        form={form}
        onChange={setForm}
        error={save.error}
        submit={save.isPending ? 'Saving …' : 'Save'}
        isPending={save.isPending}
        onSubmit={() => save.mutate()}
        headersHint="Existing values are not shown. ******** keeps a value, unless the URL changes to another host."
      />
      {save.isSuccess && (
        <p role="status" className="note">
          Saved.
        </p>
      )}
      <HookSecret path={path} hook={hook} />
      <section className="panel" aria-label="Delete this hook">
        <div className="title">
          <h2>Delete this hook</h2>
          <span className="grow" />
          <Confirm label="Delete" title="Delete this hook?" action="Delete the hook" onConfirm={() => remove.mutate()}>
            <p>
              Nothing more will be sent to <strong className="url">{hook.config.url}</strong>. Waiting deliveries are
              cancelled, and the delivery log is deleted. This cannot be undone.
            </p>
          </Confirm>
        </div>
        {remove.error && <Problem error={remove.error} />}
      </section>
    </>
  );
}

/** Keeps the secret that the hook has, or that it has none. */
const kept = '********';

function formOf({ config, events, active, retry, request_headers }: Hook): HookForm {
  return {
    url: config.url,
    contentType: config.content_type,
    insecureSsl: config.insecure_ssl,
    events,
    secret: kept,
    active,
    retry,
    headers: Object.entries(request_headers).map(([name, value]) => ({ name, value })),
  };
}
