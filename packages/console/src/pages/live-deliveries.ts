/** A hook's deliveries: pages of the log, and those recorded while the page is open. */
import { infiniteQueryOptions, type Query, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Api } from '../api/client.ts';
import { watchDeliveries } from '../api/stream.ts';
import type { Delivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import type { Filter } from './hook-search.ts';

const pageSize = 50;
/** How often the list is read while no stream is open. */
const pollMs = 3_000;
/** How often streamed deliveries are drawn. */
const drawEveryMs = 250;
/** Beyond that the list is read again. */
const arrivedMax = 500;
/** Older than any log. With it the list is sorted by time of attempt: by id, deliveries that waited would come below earlier ones. */
const everSince = '2000-01-01T00:00:00.000Z';

export function useLiveDeliveries(path: string, filter: Filter) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const first = firstPage(path, filter);
  const allKey = useMemo(() => keyOfAll(path, first), [path, first]);
  const { arrived, isLive } = useArrived(path);
  const all = useInfiniteQuery(allQuery(api, path, first));
  const newest = useQuery({
    queryKey: ['deliveries', path, first, 'newest'],
    queryFn: ({ signal }) => api.page<Delivery>(first, signal),
    // Also polls while the stream is being opened, which a proxy may draw out.
    refetchInterval: isLive ? false : pollMs,
    // It would be the same page a second time.
    enabled: all.data !== undefined,
  });
  const read = useMemo(() => all.data?.pages.flatMap(({ rows }) => rows), [all.data]);
  const fresh = newest.data?.rows;
  // More arrived than fit on a page, so there is an unread gap between that page and those read before.
  const isTorn =
    read !== undefined && fresh?.length === pageSize && !fresh.some(({ id }) => read.some((known) => known.id === id));
  useEffect(() => {
    if (isTorn) void queries.resetQueries({ queryKey: allKey });
  }, [isTorn, allKey, queries]);
  const rows = useMemo(
    () => read && merge([...arrived.filter((delivery) => fits(delivery, filter)), ...(fresh ?? []), ...read]),
    [read, fresh, arrived, filter],
  );
  return { rows, newest, all, isLive };
}

/** Prefetches the first page while the content above it is loading. */
export function useFirstPage(path: string, filter: Filter, isWanted: boolean): void {
  const { api } = useConsole();
  const queries = useQueryClient();
  const query = allQuery(api, path, firstPage(path, filter));
  if (isWanted && !queries.getQueryState(query.queryKey)) void queries.prefetchInfiniteQuery(query);
}

const firstPage = (path: string, filter: Filter) => `${path}/deliveries?${toQuery(filter)}`;
const keyOfAll = (path: string, first: string) => ['deliveries', path, first, 'all'];

const allQuery = (api: Api, path: string, first: string) =>
  infiniteQueryOptions({
    queryKey: keyOfAll(path, first),
    initialPageParam: first,
    queryFn: ({ pageParam, signal }) => api.page<Delivery>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
  });

function toQuery({ status, event, action, guid, since = everSince, until, throttled }: Filter): URLSearchParams {
  const given = { status, event, action, guid, since, until, throttled: throttled?.toString() };
  const known = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams([['per_page', String(pageSize)], ...known]);
}

/** Deliveries received by the stream. */
function useArrived(path: string) {
  const { session } = useConsole();
  const queries = useQueryClient();
  const [arrived, setArrived] = useState<Delivery[]>([]);
  const [isLive, setLive] = useState(false);
  useEffect(() => {
    const watching = new AbortController();
    let waiting: Delivery[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readAgain = () =>
      void queries.invalidateQueries({
        queryKey: ['deliveries', path],
        predicate: (query) => isNewest(query) || isUnread(query),
      });
    const draw = () => {
      timer = undefined;
      const some = waiting;
      waiting = [];
      setArrived((before) => {
        const now = [...some, ...before];
        if (now.length <= arrivedMax) return now;
        readAgain();
        return [];
      });
    };
    void watchDeliveries(
      session,
      `${path}/deliveries/stream`,
      {
        onDelivery(delivery) {
          waiting.push(delivery);
          timer ??= setTimeout(draw, drawEveryMs);
        },
        onGap: readAgain,
        onLive: setLive,
      },
      watching.signal,
    );
    return () => {
      watching.abort();
      clearTimeout(timer);
      setArrived([]);
      setLive(false);
    };
  }, [session, queries, path]);
  return { arrived, isLive };
}

const isNewest = ({ queryKey }: Query) => queryKey.at(-1) === 'newest';
/** Nobody answered when it was asked. */
const isUnread = ({ state }: Query) => state.status === 'error' && state.data === undefined;

/** Filters as the API does. */
function fits(delivery: Delivery, { status, event, action, guid, since, until, throttled }: Filter): boolean {
  const at = Date.parse(delivery.delivered_at);
  return (
    (status === undefined || delivery.status_code < 400 === (status === 'success')) &&
    (event === undefined || delivery.event === event) &&
    (action === undefined || delivery.action === action) &&
    (guid === undefined || delivery.guid === guid.toLowerCase()) &&
    (since === undefined || at >= Date.parse(since)) &&
    (until === undefined || at <= Date.parse(until)) &&
    (throttled === undefined || (delivery.throttled_at !== null) === throttled)
  );
}

/** Without repetition, latest attempt first. */
function merge(some: Delivery[]): Delivery[] {
  const known = new Map(some.map((delivery) => [delivery.id, delivery]));
  return [...known.values()].sort((a, b) =>
    a.delivered_at === b.delivered_at ? b.id - a.id : a.delivered_at < b.delivered_at ? 1 : -1,
  );
}
