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
        <h2>Replays so far</h2>
      </div>
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {!replays ? (
        !error && <Loading what="replays" />
      ) : replays.length === 0 ? (
        <Empty title="Nothing was replayed yet" />
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
          Older ones
        </Button>
      )}
    </>
  );
}

const statuses = {
  failure: 'What failed',
  missed: 'What it missed',
  all: 'Everything',
} as const;

const meanings = {
  failure: 'What was tried, and never delivered well.',
  missed: 'Events of its place that it takes now, and did not get: it was not there, not active or not subscribed.',
  all: 'Also what was delivered well.',
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
      <h2>Deliver again</h2>
      {!hook.active && <p className="note">The hook is not active: activate it under Settings first.</p>}
      <Choice label="What" value={status} onChange={setStatus} options={statuses} />
      <p className="hint">{meanings[status]}</p>
      <div className="pair">
        <TextField
          label="Since, in your zone"
          type="datetime-local"
          isRequired
          value={since}
          onChange={setSince}
          hint={utcOf(since)}
          problem={wrong('since')}
        />
        <TextField
          label="Until, in your zone"
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
        hint="Names with a comma between them. Empty: all that the hook takes."
        problem={wrong('events')}
      />
      <p className="hint">
        Each event goes once, with its guid, after everything else that is to be delivered; pings and tests do not. It
        is tried once: what fails can be replayed again.
      </p>
      {start.error && !isExplained && <Problem error={start.error} />}
      <Button
        className="button primary"
        type="submit"
        isDisabled={!hook.active || since === '' || isRunning || start.isPending}
      >
        Deliver again
      </Button>
      {isRunning && <p className="hint">One runs: wait for its end, or stop it.</p>}
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
  const why = { asked: 'somebody stopped it', hook_inactive: 'the hook is not active any more' };
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
          {total === null ? 'How many there are is being counted' : `${done} of ${total} have their outcome`}
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
          <p>What is in flight ends, the rest stays as it was. Asked for again, it sends what is left.</p>
        </Confirm>
      )}
      <span className="soft when">
        <Time at={replay.created_at} />
      </span>
    </div>
  );
}

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
