/** One hook: what was delivered, what it is set to, how to check it. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Button } from 'react-aria-components';
import { type Place, placeName, placePath } from '../api/place.ts';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Loading, Problem } from '../ui/states.tsx';
import { Deliveries } from './deliveries.tsx';
import { HookSettings } from './hook-settings.tsx';
import { LinkToHook, LinkToPlace } from './links.tsx';
import { Path } from './shell.tsx';

const Verify = lazy(async () => ({ default: (await import('./verify.tsx')).Verify }));

type Search = { tab?: 'deliveries' | 'settings' | 'verify'; status?: 'success' | 'failure' };

export function HookPage({ place, hookId, search }: { place: Place; hookId: string; search: Search }) {
  const { api } = useConsole();
  const path = `${placePath(place)}/hooks/${encodeURIComponent(hookId)}`;
  const {
    data: hook,
    error,
    refetch,
  } = useQuery({
    queryKey: ['hook', path],
    queryFn: ({ signal }) => api.get<Hook>(path, signal),
  });
  if (error) return <Problem error={error} onRetry={refetch} />;
  if (!hook) return <Loading what="the hook" />;
  const tab = search.tab ?? 'deliveries';
  const tabs = { deliveries: 'Deliveries', settings: 'Settings', verify: 'Verify' } as const;
  return (
    <>
      <Path>
        <LinkToPlace place={place} /> / {placeName(place)}
      </Path>
      <div className="title">
        <h1 className="url">{hook.config.url}</h1>
        <span className={`tag ${hook.active ? 'good' : 'off'}`}>{hook.active ? 'active' : 'not active'}</span>
      </div>
      <nav className="tabs" aria-label="Of this hook">
        {(Object.entries(tabs) as [keyof typeof tabs, string][]).map(([name, text]) => (
          <LinkToHook
            key={name}
            place={place}
            hookId={hookId}
            search={name !== 'deliveries' ? { tab: name } : search.status ? { status: search.status } : {}}
          >
            {text}
          </LinkToHook>
        ))}
        <span className="grow" />
        <SendTest place={place} path={path} isActive={hook.active} />
      </nav>
      {tab === 'deliveries' && <Deliveries place={place} hookId={hookId} path={path} status={search.status} />}
      {tab === 'settings' && <HookSettings key={hook.updated_at} place={place} path={path} hook={hook} />}
      {tab === 'verify' && (
        <Suspense fallback={<Loading what="code" />}>
          <Verify hook={hook} />
        </Suspense>
      )}
    </>
  );
}

/** A ping, and for a repository its latest push. */
function SendTest({ place, path, isActive }: { place: Place; path: string; isActive: boolean }) {
  const { api } = useConsole();
  const [said, setSaid] = useState('');
  const send = useMutation({
    mutationFn: (what: 'pings' | 'tests') => api.send('POST', `${path}/${what}`),
    onSuccess: (_, what) => setSaid(what === 'pings' ? 'A ping is on its way' : 'The latest push is on its way'),
    onError: (error) => setSaid(error.message),
  });
  return (
    <span className="actions">
      <span role="status" className="soft">
        {said}
      </span>
      <Button className="button small" isDisabled={!isActive || send.isPending} onPress={() => send.mutate('pings')}>
        Ping
      </Button>
      {place.repo !== undefined && (
        <Button className="button small" isDisabled={!isActive || send.isPending} onPress={() => send.mutate('tests')}>
          Test push
        </Button>
      )}
    </span>
  );
}
