/** What happened to an event at a hook: in words, until when, what to do, and step by step. */
import { useQuery } from '@tanstack/react-query';
import type { Place } from '../api/place.ts';
import type { Cause, DeliveryState, Explanation, Step } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Fact } from '../ui/fact.tsx';
import { Time } from '../ui/time.tsx';
import { adviceOf } from './advice.ts';
import { attemptsOf } from './attempts.ts';
import { LinkToDelivery, LinkToHook } from './links.tsx';

export const liveMs = 2_000;

const words: Record<DeliveryState, { text: string; tone: 'good' | 'bad' | 'waits' }> = {
  queued: { text: 'queued', tone: 'waits' },
  throttled: { text: 'waiting for the limit', tone: 'waits' },
  retry: { text: 'waiting for its next attempt', tone: 'waits' },
  receiver_busy: { text: 'waiting: the receiver is busy', tone: 'waits' },
  paused: { text: 'paused', tone: 'waits' },
  in_flight: { text: 'in flight', tone: 'waits' },
  delivered: { text: 'delivered', tone: 'good' },
  failed: { text: 'failed', tone: 'bad' },
  never_made: { text: 'no delivery', tone: 'bad' },
};

export const isWaiting = (explanation: Explanation | undefined): boolean =>
  explanation !== undefined && words[explanation.state].tone === 'waits';

/** Refetched while it waits, and while `isFollowed`. */
export function useExplanation(path: string | null, isFollowed = false) {
  const { api } = useConsole();
  return useQuery({
    queryKey: ['explanation', path],
    queryFn: ({ signal }) => api.get<Explanation>(path!, signal),
    enabled: path !== null,
    refetchInterval: ({ state }) => (isFollowed || isWaiting(state.data) ? liveMs : false),
  });
}

/** `deliveryId`: the delivery of the current page, which needs no link to itself. */
export function Explained({
  place,
  hookId,
  explanation,
  deliveryId,
}: {
  place: Place;
  hookId: string;
  explanation: Explanation;
  deliveryId?: string;
}) {
  const { state, sentence, since, until, next, causes, duplicates_until: duplicatesUntil, steps } = explanation;
  const { text, tone } = words[state];
  // If a delivery was never made for a single cause, that cause is the headline.
  const isSaid = causes.every((cause) => sentence.includes(cause.sentence) && cause.next === next);
  return (
    <section className="panel" aria-label="What happened">
      <div className="title">
        <h2>What happened</h2>
        <span className={`tag ${tone}`}>{text}</span>
      </div>
      <p role="status">
        <Sentence text={sentence} />
      </p>
      <dl className="facts">
        {since && (
          <Fact name="Since">
            <Time at={since} exact /> (<Time at={since} />)
          </Fact>
        )}
        {until && (
          <Fact name="Until">
            {until.at ? (
              <>
                <Time at={until.at} exact /> (<Time at={until.at} />)
              </>
            ) : (
              'unknown'
            )}
            <span className="hint">
              <Sentence text={until.reason} />
            </span>
          </Fact>
        )}
        {next && (
          <Fact name="What to do">
            <Sentence text={next} />
            {next.includes('signature') && (
              <span className="hint">
                <LinkToHook place={place} hookId={hookId} search={{ tab: 'verify' }}>
                  Find out why a signature does not match
                </LinkToHook>
              </span>
            )}
          </Fact>
        )}
      </dl>
      {!isSaid && <Causes causes={causes} duplicatesUntil={duplicatesUntil} />}
      <Attempts place={place} hookId={hookId} steps={steps} deliveryId={deliveryId} />
      {steps.length > 0 && <Timeline steps={steps} />}
    </section>
  );
}

function Causes({ causes, duplicatesUntil }: { causes: Cause[]; duplicatesUntil: string | null }) {
  return (
    <>
      <h3>Why</h3>
      <ul>
        {causes.map(({ cause, certain, sentence, next }) => (
          <li key={`${cause} ${sentence}`}>
            <Sentence text={sentence} /> {!certain && <span className="tag">possibly</span>}
            {next && (
              <span className="hint">
                <Sentence text={next} />
              </span>
            )}
            {cause === 'duplicate' && duplicatesUntil && (
              <span className="hint">
                Until <Time at={duplicatesUntil} exact />.
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Attempts made and waiting, one after the other; each has a page. */
function Attempts({
  place,
  hookId,
  steps,
  deliveryId,
}: {
  place: Place;
  hookId: string;
  steps: Step[];
  deliveryId: string | undefined;
}) {
  const attempts = attemptsOf(steps);
  if (attempts.length === 0 || (attempts.length === 1 && String(attempts[0]?.id) === deliveryId)) return null;
  return (
    <nav aria-label="Attempts">
      <h3>Attempts</h3>
      <ol className="chain">
        {attempts.map(({ id, name, text }) => (
          <li key={id}>
            {String(id) === deliveryId ? (
              <strong aria-current="page">{name} (this one)</strong>
            ) : (
              <LinkToDelivery place={place} hookId={hookId} deliveryId={id}>
                {name}
              </LinkToDelivery>
            )}
            <span className="hint">{text}</span>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Timeline({ steps }: { steps: Step[] }) {
  return (
    <>
      <h3>Step by step</h3>
      <ol className="timeline">
        {steps.map(({ step, at, exact, delivery_id: id, sentence }, index) => (
          <li key={`${step} ${at} ${id}`}>
            <span>
              <Sentence text={sentence} />
            </span>
            <span className="soft">
              {exact ? '' : 'about '}
              <Time at={at} exact />
              {index > 0 && ` (${gap(steps[index - 1]!.at, at)})`}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** How much later. Clocks differ, so a step may seem to precede its cause. */
function gap(from: string, to: string): string {
  const ms = new Date(to).getTime() - new Date(from).getTime();
  const [size, unit] = Math.abs(ms) < 1_000 ? [1, 'ms'] : Math.abs(ms) < 120_000 ? [1_000, 's'] : [60_000, 'min'];
  const amount = ms / size;
  return `${amount < 0 ? '−' : '+'}${Math.abs(amount).toFixed(unit === 's' ? 1 : 0)} ${unit}`;
}

const parts = /`([^`]*)`|(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** A sentence from the API, with its `code`, times in the reader's zone, and buttons instead of calls. */
function Sentence({ text }: { text: string }) {
  return adviceOf(text)
    .split(parts)
    .map((part, index) => {
      if (!part || index % 3 === 0) return part;
      // biome-ignore lint/suspicious/noArrayIndexKey: a sentence is taken apart at the same places
      return index % 3 === 1 ? <code key={index}>{part}</code> : <Time key={index} at={part} exact />;
    });
}
