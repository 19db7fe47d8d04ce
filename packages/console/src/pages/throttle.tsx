/** An account's limit: incoming, outgoing and waiting deliveries, when the wait will end; and changing the limit. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import type { Limit, Stats, WaitingDelivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Fact } from '../ui/fact.tsx';
import { TextField } from '../ui/fields.tsx';
import { Chart } from '../ui/lazy-chart.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { submitting } from '../ui/unsaved-input.ts';
import { amount } from './numbers.ts';
import { perMinuteOf, Ranges, useStats } from './overview.tsx';
import type { Range } from './overview-search.ts';
import { Waiting, waitingTexts } from './waiting.tsx';

export function Throttle({ owner, range = 'hour' }: { owner: string; range?: Range | undefined }) {
  const { isSiteAdmin } = useConsole();
  const { data, error, refetch } = useStats(`/orgs/${encodeURIComponent(owner)}/stats`, range);
  return (
    <>
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {data?.now.limit ? <State stats={data} limit={data.now.limit} /> : !error && <Loading what="the limit" />}
      <Ranges range={range} />
      {data && <Course stats={data} />}
      {data && <Waiting waiting={data.now.waiting} />}
      {isSiteAdmin && data?.now.limit && <ChangeLimit key={owner} owner={owner} limit={data.now.limit} />}
      {isSiteAdmin && <WaitingDeliveries owner={owner} />}
    </>
  );
}

function State({ stats: { now }, limit }: { stats: Stats; limit: Limit }) {
  const throttled = now.waiting.find(({ reason }) => reason === 'limit');
  return (
    <section className="panel" aria-label="Limit">
      <dl className="facts">
        <Fact name="Limit">
          {limit.rate.toLocaleString()} deliveries per second, in bursts of up to {limit.burst.toLocaleString()}
        </Fact>
        <Fact name="Waiting for the limit">
          {throttled === undefined ? (
            'nothing'
          ) : (
            <span role="status">
              {throttled.deliveries.toLocaleString()}
              {throttled.more && '+'} deliveries
              {throttled.since && (
                <>
                  , the oldest since <Time at={throttled.since} exact /> (<Time at={throttled.since} />)
                </>
              )}
            </span>
          )}
        </Fact>
        {throttled && (
          <Fact name="Expected end">
            {now.expected_end_at === null ? (
              'unknown: recently, at least as much came in as went out'
            ) : (
              <>
                <Time at={now.expected_end_at} exact /> (<Time at={now.expected_end_at} />)
              </>
            )}
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Course({ stats }: { stats: Stats }) {
  const { points, now } = stats;
  const rates = useMemo(() => {
    const perMinute = perMinuteOf(stats);
    const cameIn = points.map((point) => perMinute(point, point.came_in));
    const wentOut = points.map((point) => perMinute(point, point.delivered + point.failed));
    const limit = (now.limit?.rate ?? Number.POSITIVE_INFINITY) * 60;
    // A limit far above the lines would flatten them.
    const isNear = Math.max(...cameIn.map(Number), ...wentOut.map(Number)) > limit / 4;
    return [
      { label: 'Incoming', tone: 'soft' as const, values: cameIn },
      { label: 'Outgoing', tone: 'accent' as const, values: wentOut },
      ...(isNear ? [{ label: 'Limit', tone: 'bad' as const, isDashed: true, values: points.map(() => limit) }] : []),
    ];
  }, [stats, points, now.limit]);
  const waiting = useMemo(
    () => [{ label: 'Waiting', tone: 'accent' as const, isArea: true, values: points.map((point) => point.waiting) }],
    [points],
  );
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const { came_in: cameIn, delivered, failed } = stats.total;
  return (
    <section className="charts">
      <Chart
        title="Incoming and outgoing per minute"
        summary={`${amount(cameIn ?? 0)} deliveries came in, ${amount(delivered + failed)} attempts went out.`}
        times={times}
        series={rates}
        format={amount}
      />
      <Chart
        title="Waiting for the limit"
        summary={`At most ${amount(Math.max(0, ...points.map((point) => point.waiting ?? 0)))} at the end of a minute.`}
        times={times}
        series={waiting}
        format={amount}
      />
    </section>
  );
}

function ChangeLimit({ owner, limit }: { owner: string; limit: Limit }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const path = `/accounts/${encodeURIComponent(owner)}/throttle`;
  const [rate, setRate] = useState(String(limit.rate));
  const [burst, setBurst] = useState(String(limit.burst));
  const change = useMutation({
    mutationFn: async (wanted: Limit | null) => {
      if (wanted) return api.send<Limit>('PUT', path, wanted);
      await api.send('DELETE', path);
      return api.get<Limit>(path);
    },
    onSuccess: (changed, wanted) => {
      // What was typed meanwhile stays.
      const shown = (of: keyof Limit) => (now: string) =>
        wanted && Number(now) !== wanted[of] ? now : String(changed[of]);
      setRate(shown('rate'));
      setBurst(shown('burst'));
      return queries.invalidateQueries({ queryKey: ['stats'] });
    },
  });
  const wrong = (field: string) =>
    change.error instanceof ApiProblem ? change.error.fields.find((each) => each.field === field)?.message : undefined;
  const isNumber = Number(rate) > 0 && Number(burst) > 0;
  return (
    <Form
      className="panel form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isNumber) change.mutate({ rate: Number(rate), burst: Number(burst) });
      }}
    >
      <h2>Change the limit</h2>
      <div className="pair">
        <TextField
          label="Deliveries per second"
          inputMode="decimal"
          value={rate}
          onChange={setRate}
          problem={wrong('rate')}
        />
        <TextField label="Burst" inputMode="decimal" value={burst} onChange={setBurst} problem={wrong('burst')} />
      </div>
      {change.error && !wrong('rate') && !wrong('burst') && <Problem error={change.error} />}
      <div className="actions">
        <Button className="button primary" type="submit" isDisabled={!isNumber || change.isPending}>
          Change the limit
        </Button>
        <Confirm
          label="Reset to default"
          kind="primary"
          title={`Reset ${owner} to the default limit?`}
          action="Reset limit"
          onConfirm={(button) => submitting(button, () => change.mutate(null))}
          isDisabled={change.isPending}
        >
          <p>The installation’s default limit then applies, as to every account without a limit of its own.</p>
        </Confirm>
        <span role="status" className="good-text">
          {change.isSuccess && 'Changed. The new limit applies immediately.'}
        </span>
      </div>
    </Form>
  );
}

/** All waiting deliveries, for whatever reason. */
function WaitingDeliveries({ owner }: { owner: string }) {
  const { api } = useConsole();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['waiting', owner],
    initialPageParam: `/accounts/${encodeURIComponent(owner)}/waiting?per_page=30`,
    queryFn: ({ pageParam, signal }) => api.page<WaitingDelivery>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : 10_000),
  });
  const waiting = data?.pages.flatMap(({ rows }) => rows) ?? [];
  if (!error && waiting.length === 0) return null;
  return (
    <section className="panel" aria-label="Waiting deliveries">
      <h2>Waiting deliveries</h2>
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      <ul className="rows">
        {waiting.map(
          ({ id, reason, event, action, guid, hook_id: hookId, attempt, redelivery, occurred_at: at, due_at: due }) => (
            <li key={id} className="row">
              <span className="grow">
                <strong>{[event, action].filter(Boolean).join('.')}</strong> <code className="soft">{guid}</code>
                <span className="soft">
                  {waitingTexts[reason]}
                  {redelivery && ', redelivery'}
                  {attempt !== null && attempt > 1 && `, attempt ${attempt}`}
                  {due && (
                    <>
                      , due <Time at={due} />
                    </>
                  )}
                </span>
              </span>
              {hookId !== null && (
                <Link to="/accounts/$owner" params={{ owner }} search={{ q: String(hookId) }}>
                  hook {hookId}
                </Link>
              )}
              <span className="soft when">{at && <Time at={at} />}</span>
            </li>
          ),
        )}
      </ul>
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetchingNextPage}>
          More
        </Button>
      )}
    </section>
  );
}
