/** One hook: its deliveries, its settings, and how to check it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Button } from 'react-aria-components';
import { type Place, placePath } from '../api/place.ts';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { useTitle } from '../ui/title.ts';
import { cacheHook } from './cache-hook.ts';
import { Deliveries } from './deliveries.tsx';
import { eventsOf, healthOf } from './health.ts';
import type { HookSearch, HookTab } from './hook-search.ts';
import { LinkToHook, LinkToPlace } from './links.tsx';
import { useFirstPage } from './live-deliveries.ts';
import { counted, percent } from './numbers.ts';
import { PauseButton, Paused } from './paused.tsx';
import { Path } from './shell.tsx';

const Overview = lazy(async () => ({ default: (await import('./overview.tsx')).Overview }));
const Replays = lazy(async () => ({ default: (await import('./replays.tsx')).Replays }));
const FindEvent = lazy(async () => ({ default: (await import('./find-event.tsx')).FindEvent }));
const TestEvent = lazy(async () => ({ default: (await import('./test-event.tsx')).TestEvent }));
const HookSettings = lazy(async () => ({ default: (await import('./hook-settings.tsx')).HookSettings }));
const Verify = lazy(async () => ({ default: (await import('./verify.tsx')).Verify }));

const tabs: Record<HookTab, string> = {
  deliveries: 'Deliveries',
  overview: 'Overview',
  replays: 'Replay',
  find: 'Find an event',
  test: 'Send a test',
  settings: 'Settings',
  verify: 'Verify',
};

export function HookPage({ place, hookId, search }: { place: Place; hookId: string; search: HookSearch }) {
  const { api, isSiteAdmin } = useConsole();
  const path = `${placePath(place)}/hooks/${encodeURIComponent(hookId)}`;
  const {
    data: hook,
    error,
    refetch,
  } = useQuery({
    queryKey: ['hook', path],
    queryFn: ({ signal }) => api.get<Hook>(path, signal),
  });
  const { tab = 'deliveries', range, ...filter } = search;
  useFirstPage(path, filter, tab === 'deliveries' && !hook && !error);
  useTitle(hook ? hook.config.url : 'Hook');
  if (isInTheWay(error, hook)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!hook) return <Loading what="the hook" />;
  const { tone, text } = healthOf(hook);
  const { success_rate: rate, delivered, failed, last_delivery_at: at } = hook.health;
  return (
    <>
      <Path>
        <LinkToPlace place={place} />
        {place.repo !== undefined && ` / ${place.repo}`} / hook {hookId}
      </Path>
      <div className="title">
        <h1 className="url">{hook.config.url}</h1>
        <span className={`tag ${tone}`}>{text}</span>
        <span className="grow" />
        <SendTest place={place} path={path} isActive={hook.active} />
        {isSiteAdmin && <PauseButton owner={place.owner} hookId={hookId} />}
        {/* Approving the app turns it on, which is the organization's to do. */}
        {!hook.disabled_reason && <TurnOff path={path} isActive={hook.active} />}
      </div>
      <p className="soft">
        Subscribed to {eventsOf(hook)}
        {rate !== null && `. In the last day, ${percent(rate)} of ${counted(delivered + failed, 'attempt')} succeeded`}
        {at && (
          <>
            . The last attempt was <Time at={at} />
          </>
        )}
        .
      </p>
      {hook.disabled_reason && (
        <p className="note">The organization restricts the OAuth app that created this hook, so nothing is sent.</p>
      )}
      <Paused owner={place.owner} hookId={hookId} />
      <nav className="tabs" aria-label="Hook">
        {(Object.keys(tabs) as HookTab[]).map((name) => (
          <LinkToHook
            key={name}
            place={place}
            hookId={hookId}
            search={name === tab ? search : name === 'deliveries' ? {} : { tab: name }}
          >
            {tabs[name]}
          </LinkToHook>
        ))}
      </nav>
      <Suspense fallback={<Loading what="the page" />}>
        {tab === 'deliveries' && <Deliveries place={place} hookId={hookId} path={path} filter={filter} />}
        {tab === 'overview' && (
          <Overview
            path={`${path}/stats`}
            range={range}
            failing={
              <LinkToHook place={place} hookId={hookId} search={isRedirect(hook) ? {} : { status: 'failure' }}>
                View failed deliveries
              </LinkToHook>
            }
          />
        )}
        {tab === 'replays' && <Replays path={path} hook={hook} />}
        {tab === 'find' && <FindEvent key={search.guid} place={place} hookId={hookId} path={path} guid={search.guid} />}
        {tab === 'test' && <TestEvent place={place} hookId={hookId} path={path} hook={hook} />}
        {tab === 'settings' && <HookSettings place={place} path={path} hook={hook} />}
        {tab === 'verify' && <Verify hook={hook} />}
      </Suspense>
    </>
  );
}

/** The filter for failed deliveries, which is GitHub's, has no redirects. */
const isRedirect = ({ health: { last_status_code: code } }: Hook) => code !== null && code >= 300 && code < 400;

/** Events while it is off are missed, not held as during a pause. */
function TurnOff({ path, isActive }: { path: string; isActive: boolean }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const turn = useMutation({
    mutationFn: (active: boolean) => api.send<Hook>('PATCH', path, { active }),
    onSuccess: (changed) => cacheHook(queries, path, changed),
  });
  return (
    <>
      {isActive ? (
        <Confirm
          label="Turn off"
          size="small"
          title="Turn this hook off?"
          action="Turn it off"
          onConfirm={() => turn.mutate(false)}
          isDisabled={turn.isPending}
        >
          <p>
            New events are not delivered, and do not wait. After you turn it on again, “Replay” can send what it missed.
          </p>
        </Confirm>
      ) : (
        <Button className="button small" onPress={() => turn.mutate(true)} isDisabled={turn.isPending}>
          Turn on
        </Button>
      )}
      {turn.error && <Problem error={turn.error} />}
    </>
  );
}

/** Sends a ping, or for a repository its latest push. */
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
