import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Place, placePath } from '../api/place.ts';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/states.tsx';
import { type HookForm, HookFormFields, toHookBody } from './hook-form.tsx';

export function HookSettings({ place, path, hook }: { place: Place; path: string; hook: Hook }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState<HookForm>({
    url: hook.config.url,
    contentType: hook.config.content_type,
    events: hook.events,
    secret: '',
    active: hook.active,
    retry: hook.retry ?? 'on',
    headers: [],
  });
  const names = Object.keys(hook.request_headers ?? {});
  const save = useMutation({
    mutationFn: () => api.send<Hook>('PATCH', path, toHookBody(form)),
    onSuccess: (changed) => {
      queries.setQueryData(['hook', path], changed);
      return queries.invalidateQueries({ queryKey: ['hooks', placePath(place)] });
    },
  });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', path),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['hooks', placePath(place)] });
      await navigate({ to: '/accounts/$owner', params: { owner: place.owner } });
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
        secretHint={
          hook.config.secret ? 'It has one, which nobody is shown again. Leave this empty to keep it.' : 'It has none.'
        }
      />
      {names.length > 0 && <p className="hint">Headers that it has: {names.join(', ')}. Their values are not shown.</p>}
      {save.isSuccess && (
        <p role="status" className="note">
          Saved.
        </p>
      )}
      <section className="panel" aria-label="Delete this hook">
        <div className="title">
          <h2>Delete this hook</h2>
          <span className="grow" />
          <Confirm label="Delete" title="Delete this hook?" action="Delete the hook" onConfirm={() => remove.mutate()}>
            <p>
              Nothing more is sent to <strong className="url">{hook.config.url}</strong>. What waits is cancelled, and
              its log goes. This cannot be undone.
            </p>
          </Confirm>
        </div>
        {remove.error && <Problem error={remove.error} />}
      </section>
    </>
  );
}
