/** `--filter KEY=VALUE`: which deliveries are passed on. */
import { usage } from '../problem.ts';
import { type Delivery, eventOf, payloadOf } from './delivery.ts';

export type Filter = (delivery: Delivery) => boolean;

/**
 * All conditions must hold. A key is `event` or a path in the payload such as `issue.user.login`; values are compared as text, and `*` matches
 * anything.
 * @throws Problem `usage`.
 */
export function makeFilter(texts: readonly string[]): Filter {
  const conditions = texts.map((text) => {
    const [, key, not, value] = /^([\w.-]+?)(!?)=(.*)$/s.exec(text) ?? [];
    if (key === undefined) throw usage(`--filter ${text}: it is KEY=VALUE or KEY!=VALUE`);
    const form = new RegExp(`^${value!.split('*').map(quote).join('.*')}$`, 's');
    return { path: key.split('.'), isWanted: not === '', form };
  });
  return (delivery) => conditions.every(({ path, isWanted, form }) => form.test(valueAt(delivery, path)) === isWanted);
}

const quote = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function valueAt(delivery: Delivery, path: string[]): string {
  if (path.length === 1 && path[0] === 'event') return eventOf(delivery);
  let at: unknown = payloadOf(delivery);
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return '';
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === 'string' ? at : JSON.stringify(at);
}
