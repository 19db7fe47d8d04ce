/** The deliveries of a hook, newest first. New ones appear at the top while the page is looked at. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Place } from '../api/place.ts';
import type { Delivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Checkbox, TextField } from '../ui/fields.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { type Filter, type HookSearch, isGuid, validateSearch } from './hook-search.ts';
import { LinkToDelivery, LinkToHook } from './links.tsx';

const newestMs = 2_000;

export function Deliveries({
  place,
  hookId,
  path,
  filter,
}: {
  place: Place;
  hookId: string;
  path: string;
  filter: Filter;
}) {
  const { api } = useConsole();
  const { status } = filter;
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
  // The API knows outcomes alone; what is left out here must not make it read on to the end of the log by itself.
  const isNarrow = filter.event !== undefined || filter.guid !== undefined || filter.throttled === true;
  const end = useRef<HTMLDivElement>(null);
  const { fetchNextPage, hasNextPage, isFetching } = older;
  useEffect(() => {
    if (!end.current || !hasNextPage || isFetching || isNarrow) return;
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage());
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [fetchNextPage, hasNextPage, isFetching, isNarrow]);

  if (older.error && !older.data) return <Problem error={older.error} onRetry={older.refetch} />;
  if (!older.data) return <Loading what="deliveries" />;
  const loaded = merge(
    newest.data?.rows ?? [],
    older.data.pages.flatMap((page) => page.rows),
  );
  const rows = loaded.filter((delivery) => fits(delivery, filter));
  const filters = { all: undefined, delivered: 'success', failed: 'failure' } as const;
  return (
    <>
      <nav className="filters" aria-label="Filter">
        {Object.entries(filters).map(([text, value]) => (
          <LinkToHook key={text} place={place} hookId={hookId} search={changed(filter, { status: value })}>
            {text}
          </LinkToHook>
        ))}
      </nav>
      <Narrow place={place} hookId={hookId} filter={filter} />
      {isNarrow && (
        <p role="status" className="hint">
          {rows.length} of the {loaded.length} that were read so far.{' '}
          {hasNextPage ? 'There are older ones, which are looked through as you read on.' : 'There are no older ones.'}
        </p>
      )}
      {newest.error && <Problem error={newest.error} onRetry={newest.refetch} />}
      {rows.length === 0 ? (
        <Empty title={status || isNarrow ? 'None of this kind' : 'Nothing was delivered yet'}>
          {!isNarrow && <p>A ping shows whether the receiver answers.</p>}
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
          {isNarrow ? 'Look through older ones' : 'Older ones'}
        </Button>
      )}
    </>
  );
}

/** By what the API does not: in what was read of its list. */
function Narrow({ place, hookId, filter }: { place: Place; hookId: string; filter: Filter }) {
  const navigate = useNavigate();
  const [event, setEvent] = useState(filter.event ?? '');
  const [guid, setGuid] = useState(filter.guid ?? '');
  const narrow = (change: Parameters<typeof changed>[1]) =>
    void navigate({ to: '.', search: changed({ ...filter, event, guid: guid.trim() }, change), replace: true });
  return (
    <div className="pair narrow">
      <TextField
        label="Event or action"
        value={event}
        placeholder="issues.opened"
        onChange={(text) => {
          setEvent(text);
          narrow({ event: text });
        }}
      />
      <TextField
        label="Guid"
        value={guid}
        onChange={(text) => {
          setGuid(text);
          narrow({ guid: text.trim() });
        }}
      />
      <Checkbox isSelected={filter.throttled === true} onChange={(throttled) => narrow({ throttled })}>
        Throttled
      </Checkbox>
      {isGuid(guid.trim()) && (
        <LinkToHook place={place} hookId={hookId} search={{ tab: 'find', guid: guid.trim() }} className="button small">
          What became of this event?
        </LinkToHook>
      )}
    </div>
  );
}

const changed = (
  filter: Filter,
  change: { status?: Filter['status'] | undefined; event?: string; guid?: string; throttled?: boolean },
): HookSearch => validateSearch({ ...filter, ...change });

function fits({ event, action, guid, throttled_at }: Delivery, filter: Filter): boolean {
  const name = (action ? `${event}.${action}` : event).toLowerCase();
  return (
    (filter.event === undefined || name.includes(filter.event.trim().toLowerCase())) &&
    (filter.guid === undefined || guid.includes(filter.guid.toLowerCase())) &&
    (!filter.throttled || throttled_at !== null)
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
    <LinkToDelivery place={place} hookId={hookId} deliveryId={delivery.id} className="row">
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
