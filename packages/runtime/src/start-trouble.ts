/** Why a service could not start, where an operator can fix it: permanent refusals by a store. */
import { Misconfigured } from './misconfigured.ts';
import { causesOf, isRedisReply, sqlStateOf } from './store-errors.ts';

/** One line, or undefined if it is not a refusal. Stores name users and databases in their messages, never passwords. */
export function refusalOf(error: unknown): string | undefined {
  for (const one of causesOf(error)) {
    const { message } = one as { message: string };
    const state = sqlStateOf(one);
    if (state !== undefined) return ofPostgres(state, message);
    if (isRedisReply(one) && /^(WRONGPASS|NOAUTH|NOPERM)/.test(message))
      return `REDIS_URL: Redis refuses it: ${message}`;
    if (/ACCESS_REFUSED/.test(message)) return `AMQP_URL: RabbitMQ refuses it: ${message}`;
    // amqplib does not pass on the reason.
    if (/got <ConnectionClose/.test(message))
      return 'AMQP_URL: RabbitMQ refuses its vhost: it is not there, or not for this user';
  }
  return undefined;
}

/** An operator's mistake (in a seed file, a store's password), reported as plainly as a bad environment. */
export function misconfiguredBy(error: unknown): Misconfigured | undefined {
  const refused = refusalOf(error);
  if (refused) return new Misconfigured('could not start', [refused]);
  return error instanceof Misconfigured ? error : undefined;
}

/** SQLSTATEs: PostgreSQL's documentation, appendix A. */
function ofPostgres(state: string, message: string): string | undefined {
  if (state === '08P01' && message.includes('startup parameter'))
    return 'DATABASE_URL: leads through a pooler; set DATABASE_DIRECT_URL to PostgreSQL itself as well (docs/deploying.md)';
  if (/^28|^3D/.test(state)) return `DATABASE_URL: PostgreSQL refuses it: ${message}`;
  if (/^(42P01|42703|42883|3F000)$/.test(state))
    return `PostgreSQL: ${message}: run this version's migrations first (docs/deploying.md)`;
  if (state === '42501') return `PostgreSQL: ${message}: the user needs more rights`;
  return undefined;
}
