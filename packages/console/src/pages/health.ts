import type { Hook } from '../api/types.ts';
import { isDelivered, outcomeOf } from './outcome.ts';

export const eventsOf = ({ events }: Pick<Hook, 'events'>): string =>
  events.includes('*') ? 'all events' : events.join(', ') || 'no events';

/** A hook's health, from its last delivery. */
export function healthOf({ active, health }: Hook): { tone: 'off' | 'none' | 'good' | 'bad'; text: string } {
  if (!active) return { tone: 'off', text: 'not active' };
  const { last_status_code: code, last_status: status } = health;
  if (code === null) return { tone: 'none', text: 'no deliveries yet' };
  const last = { status_code: code, status };
  return { tone: isDelivered(last) ? 'good' : 'bad', text: `last: ${outcomeOf(last)}` };
}
