/** The deliveries of a hook, newest first. New ones appear at the top while the page is looked at. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Button } from 'react-aria-components';
import type { Place } from '../api/place.ts';
import type { Delivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { LinkToDelivery, LinkToHook } from './links.tsx';

const newestMs = 2_000;

export function Deliveries({
  place,
  hookId,
  path,
  status,
}: {
  place: Place;
  hookId: string;
  path: string;
  status: 'success' | 'failure' | undefined;
}) {
  const { api } = useConsole();
  const first = `${path}/deliveries?per_page=50${status ? `&status=${status}` : ''}`;
  const newest = useQuery({
    queryKey: ['deliveries', path, status, 'newest'],
    queryFn: ({ signal }) => api.page<Delivery>(first, signal),
    refetchInterval: newestMs,
  });
  const older = useInfiniteQuery({
    queryKey: ['deliveries', path, status, 'all'],
    initialPageParam: first,
    queryFn: ({ pageParam, signal }) => api.page<Delivery>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const end = useRef<HTMLDivElement>(null);
  const { fetchNextPage, hasNextPage, isFetching } = older;
  useEffect(() => {
    if (!end.current || !hasNextPage || isFetching) return;
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage());
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [fetchNextPage, hasNextPage, isFetching]);

  if (older.error && !older.data) return <Problem error={older.error} onRetry={older.refetch} />;
  if (!older.data) return <Loading what="deliveries" />;
  const rows = merge(
    newest.data?.rows ?? [],
    older.data.pages.flatMap((page) => page.rows),
  );
  const filters = { all: undefined, delivered: 'success', failed: 'failure' } as const;
  return (
    <>
      <nav className="filters" aria-label="Filter">
        {Object.entries(filters).map(([text, value]) => (
          <LinkToHook key={text} place={place} hookId={hookId} search={value ? { status: value } : {}}>
            {text}
          </LinkToHook>
        ))}
      </nav>
      {newest.error && <Problem error={newest.error} onRetry={newest.refetch} />}
      {rows.length === 0 ? (
        <Empty title={status ? 'None of this kind' : 'Nothing was delivered yet'}>
          <p>A ping shows whether the receiver answers.</p>
        </Empty>
      ) : (
        <ul className="rows panel">
          {rows.map((delivery) => (
            <li key={delivery.id}>
              <DeliveryRow place={place} hookId={hookId} delivery={delivery} />
            </li>
          ))}
        </ul>
      )}
      <div ref={end} />
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetching}>
          Older ones
        </Button>
      )}
    </>
  );
}

/** What is newer than the pages that were read once goes before them. */
function merge(newest: Delivery[], older: Delivery[]): Delivery[] {
  const known = new Set(older.map(({ id }) => id));
  return [...newest.filter(({ id }) => !known.has(id)), ...older];
}

function DeliveryRow({ place, hookId, delivery }: { place: Place; hookId: string; delivery: Delivery }) {
  const isGood = delivery.status_code < 400;
  return (
    <LinkToDelivery place={place} hookId={hookId} deliveryId={delivery.id}>
      <span className={`dot ${isGood ? 'good' : 'bad'}`} aria-hidden="true" />
      <span className="grow">
        <strong>
          {delivery.event}
          {delivery.action ? `.${delivery.action}` : ''}
        </strong>{' '}
        <code className="soft">{delivery.guid}</code>
        <span className="marks">
          {delivery.redelivery && <span className="tag">redelivery</span>}
          {delivery.attempt > 1 && <span className="tag">attempt {delivery.attempt}</span>}
          {delivery.throttled_at && <span className="tag">throttled</span>}
        </span>
      </span>
      <span className={isGood ? 'soft' : 'bad-text'}>{isGood ? delivery.status_code : delivery.status}</span>
      <span className="soft when">
        <Time at={delivery.delivered_at} />
      </span>
    </LinkToDelivery>
  );
}
