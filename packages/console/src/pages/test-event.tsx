/** A made-up event for this hook alone: one of the command line's samples, freely editable. */
import { type SampleEvent, sampleEvents } from '@gatepost/cli/samples/events';
import { type Where, whereOf } from '@gatepost/cli/samples/place';
import { makeSample } from '@gatepost/cli/samples/samples';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import { type Place, placePath } from '../api/place.ts';
import type { Hook, Repository } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { TextField } from '../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { LinkToHook } from './links.tsx';

export function TestEvent({ place, hookId, path, hook }: { place: Place; hookId: string; path: string; hook: Hook }) {
  const { api } = useConsole();
  const {
    data: where,
    error,
    refetch,
  } = useQuery({
    queryKey: ['sample place', placePath(place)],
    queryFn: async (): Promise<{ of: Where | null }> => {
      const organization = `/orgs/${encodeURIComponent(place.owner)}`;
      // Samples take place in a repository.
      const repo = place.repo ?? (await api.get<Repository[]>(`${organization}/repos?per_page=1`))[0]?.name;
      if (repo === undefined) return { of: null };
      const [known, owner, person] = await Promise.all([
        api.get(placePath({ owner: place.owner, repo })),
        api.get(organization),
        api.get('/user'),
      ]);
      return { of: whereOf(known, owner, person, new Date()) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (isInTheWay(error, where)) return <Problem error={error} onRetry={refetch} />;
  if (!where) return <Loading what="samples" />;
  return <TestForm place={place} hookId={hookId} path={path} hook={hook} where={where.of} />;
}

function TestForm({
  place,
  hookId,
  path,
  hook,
  where,
}: {
  place: Place;
  hookId: string;
  path: string;
  hook: Hook;
  where: Where | null;
}) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const events: readonly string[] = hook.events.includes('*') ? sampleEvents : hook.events;
  const sample = (name: string) => JSON.stringify(sampleOf(name, where), null, 2);
  const [event, setEvent] = useState(events[0] ?? '');
  const [payload, setPayload] = useState(() => sample(event));
  const [secret, setSecret] = useState('');
  const parsed = objectOf(payload);
  const isSigned = hook.config.secret !== undefined;
  const send = useMutation({
    mutationFn: () =>
      api.send<{ guid: string }>('POST', `${path}/triggers`, { event, payload: parsed, ...(isSigned && { secret }) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries', path] }),
  });
  const wrongSecret =
    send.error instanceof ApiProblem ? send.error.fields.find(({ field }) => field === 'secret')?.message : undefined;
  return (
    <Form
      className="panel form"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        send.mutate();
      }}
    >
      <h2>Send a test event</h2>
      <p className="soft">It is sent only to this hook and signed like a real event, so the receiver acts on it.</p>
      {!hook.active && !hook.disabled_reason && <p className="note">The hook is not active. Turn it on first.</p>}
      <label className="field">
        <span>Event</span>
        <select
          value={event}
          onChange={({ target: { value } }) => {
            setEvent(value);
            setPayload(sample(value));
          }}
        >
          {events.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>Payload</span>
        <textarea
          className="code"
          rows={14}
          value={payload}
          onChange={({ target }) => setPayload(target.value)}
          spellCheck={false}
          aria-invalid={parsed === undefined}
          aria-describedby="payload-problem"
        />
      </label>
      <p className="wrong" id="payload-problem" role="status">
        {parsed === undefined && 'This is not a JSON object.'}
      </p>
      {isSigned && (
        <TextField
          label="The hook’s secret"
          type="password"
          isRequired
          value={secret}
          onChange={setSecret}
          hint="It signs the event, so you must know it to send a test event. It is not stored."
          problem={wrongSecret}
        />
      )}
      {send.error && !wrongSecret && <Problem error={send.error} />}
      <p role="status" className="good-text">
        {send.data && (
          <>
            The event is on its way.{' '}
            <LinkToHook place={place} hookId={hookId} search={{ tab: 'find', guid: send.data.guid }}>
              See what happens to it
            </LinkToHook>
          </>
        )}
      </p>
      <Button
        className="button primary"
        type="submit"
        isDisabled={!hook.active || parsed === undefined || event === '' || send.isPending}
      >
        Send test event
      </Button>
    </Form>
  );
}

const isSample = (name: string): name is SampleEvent => (sampleEvents as readonly string[]).includes(name);

/** For events without a sample: what every payload has. */
function sampleOf(event: string, where: Where | null): object {
  if (!where) return {};
  if (isSample(event)) return makeSample(event, where);
  const { repository, organization, sender } = where;
  return { action: 'created', repository, organization, sender };
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
