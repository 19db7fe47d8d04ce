/** The gate's log as it is written, with the reason for each refusal. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { Button } from 'react-aria-components';
import type { LogEntry } from '../../api/management-types.ts';
import { Checkbox, SearchField } from '../../ui/fields.tsx';
import { Empty, Loading, Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Entries, refusedTypes } from './log-entries.tsx';
import { type LogKind, type LogSearch, logKinds, validateLogSearch } from './search.ts';
import { shownEntries, shownMax } from './shown-entries.ts';

const typesOf: Record<Exclude<LogKind, 'all'>, string[]> = {
  refused: refusedTypes,
  logins: ['s', 'f', 'fp', 'fu', 'limit_wc', 'ss', 'fs', 'slo', 'scp', 'scpr', 'sv', 'sce', 'mfar', 'gd_*'],
  tokens: ['se*', 'fe*', 'srrt'],
  changes: ['sapi', 'consent_granted'],
};
const perPage = 50;

export const LogPage = gatePage('Log', 'read:logs', ({ search }: { search: LogSearch }) => {
  const { api } = useGate();
  const navigate = useNavigate();
  const [isLive, setLive] = useState(true);
  const q = useDeferredValue(queryOf(search));
  const address = (more: Record<string, string>) => `/logs?${new URLSearchParams({ ...(q && { q }), ...more })}`;
  const past = useInfiniteQuery({
    queryKey: ['gate', 'log', 'past', q],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<LogEntry[]>(address({ page: String(pageParam), per_page: String(perPage) }), signal),
    getNextPageParam: (last, pages) =>
      last.length === perPage && pages.length * perPage < 1_000 ? pages.length : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const newest = past.data?.pages[0]?.[0]?.log_id ?? '0';
  // New entries: each request continues from the last answer.
  const live = useQuery<LogEntry[]>({
    queryKey: ['gate', 'log', 'live', q, newest],
    queryFn: async ({ signal, client, queryKey }) => {
      const before = client.getQueryData<LogEntry[]>(queryKey) ?? [];
      const from = before[0]?.log_id ?? newest;
      const next = await api.get<LogEntry[]>(address({ from, take: '100' }), signal);
      return [...next.reverse(), ...before].slice(0, shownMax + 1); // one more says that there were more
    },
    enabled: isLive && past.isSuccess,
    refetchInterval: 2_000,
    gcTime: 0,
  });
  const change = (part: LogSearch) =>
    navigate({
      to: '/gate/log',
      // What is typed arrives a moment later, when another filter may have been set.
      search: (before) => validateLogSearch({ ...before, ...part }),
      replace: true,
    });
  const kind = search.kind ?? 'all';
  const { entries, isCut } = shownEntries(live.data ?? [], past.data?.pages.flat() ?? []);
  return (
    <>
      <div className="title">
        <h1>Log</h1>
        <span className="grow" />
        <Checkbox isSelected={isLive} onChange={setLive}>
          Live
        </Checkbox>
      </div>
      <section className="panel" aria-label="Entries">
        <fieldset className="filters">
          <legend className="hidden">Filter</legend>
          {(Object.keys(logKinds) as LogKind[]).map((key) => (
            <button key={key} type="button" aria-pressed={kind === key} onClick={() => change({ kind: key })}>
              {logKinds[key]}
            </button>
          ))}
        </fieldset>
        <div className="pair">
          <SearchField label="Client ID" value={search.client ?? ''} onChange={(client) => void change({ client })} />
          <SearchField label="User ID" value={search.user ?? ''} onChange={(user) => void change({ user })} />
        </div>
        {(live.error ?? past.error) && (
          <Problem error={live.error ?? past.error} onRetry={() => Promise.all([past.refetch(), live.refetch()])} />
        )}
        {past.isPending ? (
          !past.error && <Loading what="the log" />
        ) : entries.length === 0 ? (
          <Empty title="No entries match">{isLive && <p>New entries appear here as they arrive.</p>}</Empty>
        ) : (
          <Entries entries={entries} />
        )}
        {isCut && <p className="hint">Only the newest {shownMax} are shown. Reload the page to see older ones.</p>}
        {past.hasNextPage && !isCut && (
          <Button className="button" isDisabled={past.isFetchingNextPage} onPress={() => past.fetchNextPage()}>
            Older
          </Button>
        )}
      </section>
    </>
  );
});

function queryOf({ kind, client, user }: LogSearch): string {
  const quoted = (text: string) => `"${text.trim().replace(/["\\]/g, '\\$&')}"`;
  return [
    kind && kind !== 'all' ? `type:(${typesOf[kind].join(' OR ')})` : '',
    client ? `client_id:${quoted(client)}` : '',
    user ? `user_id:${quoted(user)}` : '',
  ]
    .filter((part) => part !== '')
    .join(' AND ');
}
