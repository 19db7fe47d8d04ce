/** One delivery: its request, its response, its timings, and other attempts. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import { type Place, placePath } from '../api/place.ts';
import type { Timings, WholeDelivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Copy } from '../ui/copy.tsx';
import { Fact } from '../ui/fact.tsx';
import { Message } from '../ui/message.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { useTitle } from '../ui/title.ts';
import { toCurl } from './curl.ts';
import { Explained, isWaiting, liveMs, useExplanation } from './explanation.tsx';
import { LinkToHook, LinkToPlace } from './links.tsx';
import { isDelivered, outcomeOf } from './outcome.ts';
import { Path } from './shell.tsx';

export function DeliveryPage({ place, hookId, deliveryId }: { place: Place; hookId: string; deliveryId: string }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const hookPath = `${placePath(place)}/hooks/${encodeURIComponent(hookId)}`;
  const path = `${hookPath}/deliveries/${encodeURIComponent(deliveryId)}`;
  useTitle('Delivery');
  const [isFollowed, setFollowed] = useState(false);
  const { data: explanation } = useExplanation(`${path}/explain`, isFollowed);
  const { data, error, refetch } = useQuery({
    queryKey: ['delivery', path],
    queryFn: ({ signal }) => api.get<WholeDelivery>(path, signal),
    // A waiting delivery is not in the log yet.
    refetchInterval: ({ state }) => (state.data === undefined && isWaiting(explanation) ? liveMs : false),
  });
  const redeliver = useMutation({
    mutationFn: () => api.send('POST', `${path}/attempts`),
    onSuccess: () => {
      setFollowed(true);
      return queries.invalidateQueries({ queryKey: ['deliveries', hookPath] });
    },
  });
  const way = (
    <Path>
      <LinkToPlace place={place} /> / {place.repo !== undefined && `${place.repo} / `}
      <LinkToHook place={place} hookId={hookId}>
        hook {hookId}
      </LinkToHook>
    </Path>
  );
  const fate = explanation && (
    <Explained place={place} hookId={hookId} explanation={explanation} deliveryId={deliveryId} />
  );
  if (!data && explanation)
    return (
      <>
        {way}
        <h1>{[explanation.event ?? 'Delivery', explanation.action].filter(Boolean).join('.')}</h1>
        <p className="soft">
          Event <code>{explanation.guid}</code>. The request and the response are shown after an attempt.
        </p>
        {fate}
      </>
    );
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the delivery" />;
  const isGood = isDelivered(data);
  const curl = toCurl(data);
  return (
    <>
      {way}
      <div className="title">
        <h1>
          {data.event}
          {data.action ? `.${data.action}` : ''}
        </h1>
        <span className={`tag ${isGood ? 'good' : 'bad'}`}>{outcomeOf(data)}</span>
        <span className="grow" />
        {curl === undefined ? (
          <span className="soft">The payload is no longer kept: it cannot be copied as curl</span>
        ) : (
          <Copy text={curl} label="Copy as curl" size="normal" />
        )}
        {explanation?.redeliverable === false ? (
          <span className="soft">
            A test event is not redelivered:{' '}
            <LinkToHook place={place} hookId={hookId} search={{ tab: 'test' }}>
              send another
            </LinkToHook>
          </span>
        ) : (
          <Button className="button" onPress={() => redeliver.mutate()} isDisabled={redeliver.isPending}>
            Redeliver
          </Button>
        )}
      </div>
      {redeliver.error && <Problem error={redeliver.error} />}
      {redeliver.isSuccess && (
        <p role="status" className="note">
          The redelivery is on its way.{' '}
          <LinkToHook place={place} hookId={hookId}>
            View deliveries
          </LinkToHook>
        </p>
      )}
      <section className="panel" aria-label="Summary">
        <dl className="facts">
          <Fact name="GUID">
            <code>{data.guid}</code>
          </Fact>
          <Fact name="Sent">
            <Time at={data.delivered_at} exact /> (<Time at={data.delivered_at} />)
          </Fact>
          <Fact name="To">
            <span className="url">{data.url}</span>
          </Fact>
          <Fact name="Attempt">
            {data.attempt}
            {data.redelivery ? ' (redelivery)' : ''}
          </Fact>
          {data.throttled_at && (
            <Fact name="Throttled">
              at <Time at={data.throttled_at} exact />, by the limit of {place.owner}
            </Fact>
          )}
          {!isGood && (
            <Fact name="What went wrong">
              {data.status}
              {data.error ? `: ${data.error}` : ''}
            </Fact>
          )}
        </dl>
        {data.timings && <Waterfall timings={data.timings} />}
      </section>
      {fate}
      <Message
        title="Request"
        headers={data.request.headers}
        body={data.request.payload === null ? '' : JSON.stringify(data.request.payload)}
        none="no longer kept"
      />
      <Message title="Response" headers={data.response.headers ?? {}} body={data.response.payload ?? ''} />
    </>
  );
}

/** The duration of each phase, one after the other. */
function Waterfall({ timings }: { timings: Timings }) {
  const { dns, connect, tls, first_byte: firstByte, total } = timings;
  const phases: [string, number | null][] = [
    ['DNS', dns],
    ['connection', connect],
    ['TLS', tls],
    ['response', firstByte],
  ];
  const known = phases.filter((phase): phase is [string, number] => phase[1] !== null);
  const rest = total - known.reduce((sum, [, ms]) => sum + ms, 0);
  const bars: [string, number][] =
    rest > 0.05 ? [...known, [firstByte === null ? 'no response' : 'rest', rest]] : known;
  let start = 0;
  return (
    <table className="waterfall">
      <caption>{total} ms in total</caption>
      <tbody>
        {bars.map(([name, ms]) => {
          const from = start;
          start += ms;
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                  <rect x={(from / total) * 100} y="0" width={Math.max((ms / total) * 100, 0.5)} height="4" />
                </svg>
              </td>
              <td className="ms">{ms.toFixed(1)} ms</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
