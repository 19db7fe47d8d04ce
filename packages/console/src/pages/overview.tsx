/** How the post is doing: deliveries, their speed, and what waits; for all, for one account or for one hook. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { Button } from 'react-aria-components';
import type { Stats, StatsPoint } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Chart, useCharts } from '../ui/lazy-chart.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { amount, duration, percent } from './numbers.ts';
import { type Range, ranges } from './overview-search.ts';
import { Waiting } from './waiting.tsx';

const liveMs = 10_000;

/** Refetched while it is visible. `path`: of the statistics. */
export function useStats(path: string, range: Range) {
  const { api } = useConsole();
  const { minutes, resolution } = ranges[range];
  useCharts();
  return useQuery({
    queryKey: ['stats', path, range],
    queryFn: ({ signal }) => {
      // The API's own hour, whatever this machine's clock says.
      const since = range === 'hour' ? '' : `&since=${new Date(Date.now() - minutes * 60_000).toISOString()}`;
      return api.get<Stats>(`${path}?resolution=${resolution}${since}`, signal);
    },
    refetchInterval: liveMs,
    placeholderData: keepPreviousData,
  });
}

export function Overview({
  path,
  range = 'hour',
  failing,
  children,
}: {
  path: string;
  range?: Range | undefined;
  /** Links to failed deliveries. */
  failing?: ReactNode;
  children?: ReactNode;
}) {
  const { data, error, refetch } = useStats(path, range);
  return (
    <>
      <Ranges range={range} />
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {data ? <Known stats={data} failing={failing} /> : !error && <Loading what="the statistics" />}
      {children}
    </>
  );
}

export function Ranges({ range }: { range: Range }) {
  const navigate = useNavigate();
  const choose = (chosen: Range) =>
    navigate({
      to: '.',
      search: (now: object) => ({ ...now, range: chosen === 'hour' ? undefined : chosen }),
      replace: true,
      resetScroll: false,
    });
  return (
    <fieldset className="filters" aria-label="Time range">
      {(Object.keys(ranges) as Range[]).map((name) => (
        <Button key={name} aria-pressed={name === range} onPress={() => void choose(name)}>
          {ranges[name].text}
        </Button>
      ))}
    </fieldset>
  );
}

function Known({ stats, failing }: { stats: Stats; failing: ReactNode }) {
  const { total, now } = stats;
  const minutes = Math.max((Date.parse(stats.until) - Date.parse(stats.since)) / 60_000, 1);
  const lines = useMemo(() => linesOf(stats), [stats]);
  const { times } = lines;
  const waiting = now.waiting.reduce((sum, { deliveries }) => sum + deliveries, 0);
  const isMore = now.waiting.some(({ more }) => more);
  const oldest = now.waiting.flatMap(({ since }) => since ?? []).sort()[0];
  return (
    <>
      <dl className="tiles">
        <Tile name="Success rate" tone={toneOf(total.success_rate)}>
          {total.success_rate === null ? '–' : percent(total.success_rate)}
        </Tile>
        <Tile name="Delivered" note={`${amount(total.delivered / minutes)} per minute`}>
          {amount(total.delivered)}
        </Tile>
        <Tile
          name="Failed"
          note={
            <>
              {amount(total.failed / minutes)} per minute{total.failed > 0 && failing && <br />}
              {total.failed > 0 && failing}
            </>
          }
          tone={total.failed > 0 ? 'bad' : undefined}
        >
          {amount(total.failed)}
        </Tile>
        <Tile name="Median duration" note={`95 % within ${duration(total.p95_ms)}`}>
          {duration(total.p50_ms)}
        </Tile>
        <Tile
          name="Waiting"
          note={
            oldest && (
              <>
                oldest since <Time at={oldest} />
              </>
            )
          }
        >
          {amount(waiting)}
          {isMore && '+'}
        </Tile>
        {now.dispatchers !== null && (
          <>
            <Tile
              name="Dead letters"
              tone={now.dead_letters ? 'bad' : undefined}
              note={now.dead_letters ? <Link to="/dead-letters">View dead letters</Link> : undefined}
            >
              {now.dead_letters === null ? '–' : amount(now.dead_letters)}
            </Tile>
            <Tile name="Running dispatchers" tone={now.dispatchers === 0 ? 'bad' : undefined}>
              {amount(now.dispatchers)}
            </Tile>
          </>
        )}
      </dl>
      <section className="charts">
        <Chart
          title="Delivered and failed per minute"
          summary={`${amount(total.delivered)} delivered and ${amount(total.failed)} failed, including ${amount(total.retried)} retries, ${amount(total.redelivered)} redeliveries and ${amount(total.throttled)} throttled deliveries.`}
          times={times}
          series={lines.outcomes}
          format={amount}
        />
        <Chart
          title="Success rate"
          summary={total.success_rate === null ? 'No attempts.' : `${percent(total.success_rate)} overall.`}
          times={times}
          series={lines.rate}
          format={percent}
          max={1}
        />
        <Chart
          title="Attempt duration"
          summary={
            total.p50_ms === null
              ? 'No attempts.'
              : `Half took at most ${duration(total.p50_ms)}, 95 % at most ${duration(total.p95_ms)}.`
          }
          times={times}
          series={lines.durations}
          format={duration}
        />
        {lines.waiting && (
          <Chart
            title="Waiting for a limit"
            summary={`At most ${amount(Math.max(0, ...stats.points.map(({ waiting }) => waiting ?? 0)))} at the end of a minute.`}
            times={times}
            series={lines.waiting}
            format={amount}
          />
        )}
      </section>
      <Waiting waiting={now.waiting} />
    </>
  );
}

function linesOf(stats: Stats) {
  const { points } = stats;
  const perMinute = perMinuteOf(stats);
  const line = (value: (point: StatsPoint) => number | null) => points.map(value);
  return {
    times: points.map(({ at }) => at),
    outcomes: [
      {
        label: 'Delivered',
        tone: 'accent' as const,
        isArea: true,
        values: line((point) => perMinute(point, point.delivered)),
      },
      { label: 'Failed', tone: 'bad' as const, values: line((point) => perMinute(point, point.failed)) },
    ],
    rate: [{ label: 'Success rate', tone: 'good' as const, values: line((point) => point.success_rate) }],
    durations: [
      { label: 'Median', tone: 'accent' as const, values: line((point) => point.p50_ms) },
      { label: '95 %', tone: 'soft' as const, isDashed: true, values: line((point) => point.p95_ms) },
    ],
    waiting: points.some(({ waiting }) => waiting !== null) && [
      { label: 'Waiting', tone: 'accent' as const, isArea: true, values: line((point) => point.waiting) },
    ],
  };
}

const sizes = { minute: 1, hour: 60, day: 24 * 60 };

/** A point's count as a rate; the last point is not complete yet. */
export function perMinuteOf({ resolution, until }: Pick<Stats, 'resolution' | 'until'>) {
  const end = Date.parse(until);
  return ({ at }: StatsPoint, count: number | null): number | null =>
    count === null ? null : count / Math.min(sizes[resolution], Math.max((end - Date.parse(at)) / 60_000, 1));
}

function Tile({
  name,
  note,
  tone,
  children,
}: {
  name: string;
  note?: ReactNode;
  tone?: 'good' | 'bad' | undefined;
  children: ReactNode;
}) {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd>
        <span className={tone ? `figure ${tone}-text` : 'figure'}>{children}</span>
        {note && <span className="hint">{note}</span>}
      </dd>
    </div>
  );
}

const toneOf = (rate: number | null) =>
  rate === null ? undefined : rate >= 0.99 ? ('good' as const) : rate < 0.9 ? ('bad' as const) : undefined;
