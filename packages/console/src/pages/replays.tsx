/** Replays of many deliveries: failed ones, those the hook missed, or all within a time. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import type { Hook, Replay } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Choice, TextField } from '../ui/fields.tsx';
import { toLocal, toUtc, utcOf } from '../ui/local-time.ts';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const liveMs = 1_000;
const isOpen = ({ state }: Replay) => state === 'counting' || state === 'running';

export function Replays({ path, hook }: { path: string; hook: Hook }) {
  const { api } = useConsole();
  const key = ['replays', path];
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: key,
    initialPageParam: `${path}/deliveries/replays?per_page=20`,
    queryFn: ({ pageParam, signal }) => api.page<Replay>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ rows }) => rows.some(isOpen)) ? liveMs : false),
  });
  const replays = data?.pages.flatMap(({ rows }) => rows);
  return (
    <>
      <NewReplay path={path} hook={hook} queryKey={key} isRunning={replays?.some(isOpen) ?? false} />
      <div className="title">
        <h2>Previous replays</h2>
      </div>
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {!replays ? (
        !error && <Loading what="replays" />
      ) : replays.length === 0 ? (
        <Empty title="No replays yet" />
      ) : (
        <ul className="rows panel">
          {replays.map((replay) => (
            <li key={replay.id}>
              <ReplayRow path={path} replay={replay} queryKey={key} />
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetching}>
          Older replays
        </Button>
      )}
    </>
  );
}

const statuses = {
  failure: 'Failed deliveries',
  missed: 'Missed events',
  all: 'All events',
} as const;

const meanings = {
  failure: 'Events that were attempted, but never delivered successfully.',
  missed:
    'Events that the hook subscribes to now but did not get, because it did not exist, was not active or was not subscribed.',
  all: 'Also events that were delivered successfully.',
} as const;

const sinces = { 'An hour ago': 1, 'A day ago': 24, 'Three days ago': 72 };

function NewReplay({
  path,
  hook,
  queryKey,
  isRunning,
}: {
  path: string;
  hook: Hook;
  queryKey: string[];
  isRunning: boolean;
}) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const [since, setSince] = useState(() => toLocal(hoursAgo(1)));
  const [until, setUntil] = useState('');
  const [status, setStatus] = useState<Replay['status']>('failure');
  const [events, setEvents] = useState('');
  const start = useMutation({
    mutationFn: () => {
      const names = events.split(/[\s,]+/).filter((name) => name !== '');
      return api.send<Replay>('POST', `${path}/deliveries/replays`, {
        since: toUtc(since),
        ...(until !== '' && { until: toUtc(until) }),
        status,
        ...(names.length > 0 && { events: names }),
      });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const wrong = (field: string) =>
    start.error instanceof ApiProblem ? start.error.fields.find((each) => each.field === field)?.message : undefined;
  const isExplained = wrong('since') ?? wrong('until') ?? wrong('events');
  return (
    <Form
      className="panel form"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <h2>Replay events</h2>
      {!hook.active && !hook.disabled_reason && <p className="note">The hook is not active. Turn it on first.</p>}
      <Choice label="What to replay" value={status} onChange={setStatus} options={statuses} />
      <p className="hint">{meanings[status]}</p>
      <div className="pair">
        <TextField
          label="Since (your time zone)"
          type="datetime-local"
          isRequired
          value={since}
          onChange={setSince}
          hint={utcOf(since)}
          problem={wrong('since')}
        />
        <TextField
          label="Until (your time zone)"
          type="datetime-local"
          value={until}
          onChange={setUntil}
          hint={until === '' ? 'Now' : utcOf(until)}
          problem={wrong('until')}
        />
      </div>
      <div className="actions">
        {Object.entries(sinces).map(([text, hours]) => (
          <Button key={text} className="button small" onPress={() => setSince(toLocal(hoursAgo(hours)))}>
            {text}
          </Button>
        ))}
      </div>
      <TextField
        label="Events"
        value={events}
        onChange={setEvents}
        placeholder="push, issues"
        hint="Event names, separated by commas. Leave empty for all events of the hook."
        problem={wrong('events')}
      />
      <p className="hint">
        Each event is sent once, with its GUID, after all other deliveries. Pings and tests are not replayed. There are
        no automatic retries, but you can replay what fails again.
      </p>
      {start.error && !isExplained && <Problem error={start.error} />}
      <Button
        className="button primary"
        type="submit"
        isDisabled={!hook.active || since === '' || isRunning || start.isPending}
      >
        Start replay
      </Button>
      {isRunning && <p className="hint">A replay is running. Wait until it ends, or stop it.</p>}
    </Form>
  );
}

const states = { counting: 'counting', running: 'running', done: 'done', stopped: 'stopped' } as const;

function ReplayRow({ path, replay, queryKey }: { path: string; replay: Replay; queryKey: string[] }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const { id, state, status, since, until, events, total, done, failed, expected_end_at: end } = replay;
  const stop = useMutation({
    mutationFn: () => api.send('DELETE', `${path}/deliveries/replays/${id}`),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const why = { asked: 'somebody stopped it', hook_inactive: 'the hook is no longer active' };
  return (
    <div className="row top-row">
      <div className="grow">
        <strong>{statuses[status]}</strong>{' '}
        <span className={`tag ${state === 'done' && failed === 0 ? 'good' : failed > 0 ? 'bad' : ''}`}>
          {states[state]}
        </span>
        <span className="soft">
          <Time at={since} exact /> to <Time at={until} exact />
          {events && `, ${events.join(', ')}`}
        </span>
        <progress
          aria-label={`Replay ${id}`}
          {...(total === null ? {} : { value: total === 0 ? 1 : done, max: Math.max(total, 1) })}
        />
        <span className="soft">
          {total === null ? 'Counting the events' : `${done} of ${total} done`}
          {failed > 0 && <span className="bad-text">, {failed} failed</span>}
          {replay.stopped_because && `; ${why[replay.stopped_because]}`}
          {end && (
            <>
              ; ends <Time at={end} />
            </>
          )}
        </span>
        {stop.error && <Problem error={stop.error} />}
      </div>
      {isOpen(replay) && (
        <Confirm label="Stop" title="Stop this replay?" action="Stop it" onConfirm={() => stop.mutate()}>
          <p>
            Deliveries in flight are completed, and the rest are not sent. A new replay{' '}
            {status === 'all' ? 'sends all of them again.' : 'sends what is left.'}
          </p>
        </Confirm>
      )}
      <span className="soft when">
        <Time at={replay.created_at} />
      </span>
    </div>
  );
}

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
