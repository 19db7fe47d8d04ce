import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../api/client.ts';
import { type Place, placeName, placePath } from '../api/place.ts';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Copy } from '../ui/copy.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { useTitle } from '../ui/title.ts';
import { type HookForm, HookFormFields, newSecret, toHookBody } from './hook-form.tsx';
import { LinkToPlace } from './links.tsx';
import { useMemberships, useRole } from './memberships.ts';
import { Path } from './shell.tsx';

/** Anybody but an admin would be refused. */
export function NewHook({ place }: { place: Place }) {
  useTitle('New hook');
  const { refetch } = useMemberships();
  const { role, error } = useRole(place.owner);
  const { api } = useConsole();
  const there = useQuery({
    queryKey: ['place', placePath(place)],
    queryFn: ({ signal }) => api.get<object>(placePath(place), signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: role === 'admin',
  });
  if (isInTheWay(error, role)) return <Problem error={error} onRetry={refetch} isPage />;
  if (there.error instanceof ApiProblem) return <Problem error={there.error} onRetry={there.refetch} isPage />;
  if (role === undefined) return <Loading what="your role" />;
  if (role === 'admin') return <NewHookForm place={place} />;
  return (
    <Empty title={`Only admins of ${place.owner} can create hooks`} isPage>
      <p>
        {role === null ? 'You are not a member.' : 'You are a member.'} Its admins are listed at{' '}
        <LinkToPlace place={place} />.
      </p>
    </Empty>
  );
}

function NewHookForm({ place }: { place: Place }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState<HookForm>({
    url: '',
    contentType: 'json',
    insecureSsl: '0',
    events: ['push'],
    secret: newSecret(),
    active: true,
    retry: 'on',
    headers: [],
  });
  const create = useMutation({
    mutationFn: () => api.send<Hook>('POST', `${placePath(place)}/hooks`, { name: 'web', ...toHookBody(form) }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['hooks', place.owner] });
      const hookId = String(id);
      const { owner, repo } = place;
      if (repo === undefined) await navigate({ to: '/orgs/$owner/hooks/$hookId', params: { owner, hookId } });
      else await navigate({ to: '/repos/$owner/$repo/hooks/$hookId', params: { owner, repo, hookId } });
    },
  });
  return (
    <>
      <Path>
        <LinkToPlace place={place} />
        {place.repo !== undefined && ` / ${place.repo}`} / New hook
      </Path>
      <h1>New hook for {placeName(place)}</h1>
      <HookFormFields
        form={form}
        onChange={setForm}
        error={create.error}
        submit={create.isPending ? 'Creating …' : 'Create'}
        isPending={create.isPending}
        onSubmit={() => create.mutate()}
        secretHint={
          <>
            Copy it to your receiver now. It is not shown again. <Copy text={form.secret} />
          </>
        }
      />
    </>
  );
}
