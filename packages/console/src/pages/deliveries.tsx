/** A hook's deliveries, latest first. New ones appear at the top while the page is open. */
import type { Place } from '../api/place.ts';
import type { Delivery } from '../api/types.ts';
import { InfiniteScroll } from '../ui/infinite-scroll.tsx';
import { type Selection, Tick, TickAll, useSelection } from '../ui/selection.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import type { Filter } from './hook-search.ts';
import { LinkToDelivery, LinkToHook } from './links.tsx';
import { useLiveDeliveries } from './live-deliveries.ts';
import { isDelivered, outcomeOf } from './outcome.ts';
import { RedeliverChosen } from './redeliver-chosen.tsx';

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
  const { rows, newest, all, isLive } = useLiveDeliveries(path, filter);
  const ids = rows?.map(({ id }) => id) ?? [];
  const selection = useSelection(ids);
  const isNarrow = Object.keys(filter).length > 0;
  const error = rows === undefined ? all.error : newest.error;
  return (
    <>
      <DeliveryFilters place={place} hookId={hookId} filter={filter} />
      {filter.status && (
        <p className="hint">
          As at GitHub, this filter goes by status codes up to 399 and from 400. Redirects (3xx) are not followed: they
          failed, but are among “Delivered”.
        </p>
      )}
      {isInTheWay(error, rows) && <Problem error={error} onRetry={rows === undefined ? all.refetch : newest.refetch} />}
      {!rows ? (
        !error && <Loading what="deliveries" />
      ) : rows.length === 0 ? (
        all.hasNextPage ? (
          <p className="state" role="status">
            None found yet. Searching older deliveries …
          </p>
        ) : (
          <Empty title={isNarrow ? 'No deliveries match' : 'No deliveries yet'}>
            {!isNarrow && <p>Send a ping to see whether the receiver answers.</p>}
            {filter.status === 'failure' && (
              <p>
                <LinkToHook place={place} hookId={hookId}>
                  View all deliveries
                </LinkToHook>
              </p>
            )}
          </Empty>
        )
      ) : (
        <div className="panel">
          <div className="row bar">
            <TickAll shown={ids} selection={selection} label="Select all shown" />
            <RedeliverChosen path={path} rows={rows} selection={selection} />
            <span className="grow" />
            <span className={isLive ? 'tag live' : 'tag'} role="status">
              {isLive ? 'live' : 'updated every 3 s'}
            </span>
          </div>
          <ul className="rows long">
            {rows.map((delivery) => (
              <DeliveryRow key={delivery.id} place={place} hookId={hookId} delivery={delivery} selection={selection} />
            ))}
          </ul>
        </div>
      )}
      <InfiniteScroll
        label="Older deliveries"
        hasNextPage={all.hasNextPage}
        isFetching={all.isFetching}
        fetchNextPage={all.fetchNextPage}
      />
    </>
  );
}

function DeliveryRow({
  place,
  hookId,
  delivery,
  selection,
}: {
  place: Place;
  hookId: string;
  delivery: Delivery;
  selection: Selection<number>;
}) {
  const isGood = isDelivered(delivery);
  const name = delivery.action ? `${delivery.event}.${delivery.action}` : delivery.event;
  return (
    <li className="ticked">
      <Tick
        label={`${name} ${delivery.guid}, ${delivery.redelivery ? 'redelivery, ' : ''}attempt ${delivery.attempt}, delivery ${delivery.id}`}
        isSelected={selection.has(delivery.id)}
        onChange={(is) => selection.toggle(delivery.id, is)}
      />
      <LinkToDelivery place={place} hookId={hookId} deliveryId={delivery.id} className="row grow">
        <span className={`dot ${isGood ? 'good' : 'bad'}`} aria-hidden="true" />
        <span className="grow">
          <strong>{name}</strong> <code className="soft">{delivery.guid}</code>
          <span className="marks">
            {delivery.redelivery && <span className="tag">redelivery</span>}
            {delivery.attempt > 1 && <span className="tag">attempt {delivery.attempt}</span>}
            {delivery.throttled_at && <span className="tag">throttled</span>}
          </span>
        </span>
        <span className={isGood ? 'soft' : 'bad-text'}>{isGood ? delivery.status_code : reasonOf(delivery)}</span>
        <span className="soft when">
          <Time at={delivery.delivered_at} />
        </span>
      </LinkToDelivery>
    </li>
  );
}

/** Includes the status code if the receiver answered. */
function reasonOf(delivery: Delivery): string {
  const outcome = outcomeOf(delivery);
  return outcome === delivery.status ? outcome : `${outcome}: ${delivery.status}`;
}
