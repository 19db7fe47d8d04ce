/** What waits now, why, and since when. */
import type { Stats, WaitingReason } from '../api/types.ts';
import { Time } from '../ui/time.tsx';

export const waitingTexts: Record<WaitingReason, string> = {
  limit: 'Throttled: waiting for the limit',
  retry: 'Failed: waiting for the next attempt',
  busy: 'The receiver is busy',
  paused: 'Paused',
  handed_over: 'In flight',
};

/** Used where no time is known. */
const nextTexts: Record<WaitingReason, string> = {
  limit: 'when its turn comes',
  retry: 'each at its own time',
  busy: 'when the receiver answers faster',
  paused: 'when it is resumed',
  handed_over: 'now',
};

export function Waiting({ waiting }: { waiting: Stats['now']['waiting'] }) {
  if (waiting.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section className="panel scroll" aria-label="Waiting by reason" tabIndex={0}>
      <table className="data">
        <thead>
          <tr>
            <th scope="col">Waiting</th>
            <th scope="col" className="number">
              Deliveries
            </th>
            <th scope="col">Oldest since</th>
            <th scope="col">Next attempt</th>
          </tr>
        </thead>
        <tbody>
          {waiting.map(({ reason, deliveries, more, since, next_at: next }) => (
            <tr key={reason}>
              <th scope="row">{waitingTexts[reason]}</th>
              <td className="number">
                {deliveries.toLocaleString()}
                {more && '+'}
              </td>
              <td>{since ? <Time at={since} /> : '–'}</td>
              <td>{next ? <Time at={next} /> : nextTexts[reason]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
