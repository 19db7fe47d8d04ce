/** When and from where a person last logged in, and how often. Written in the background after the login. */
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '../database.ts';
import { openWriteBehind, withMark } from '../write-behind.ts';

export type LastLogins = AsyncDisposable & {
  note(userId: string, address: string): void;
  /** When the person's logins were that are not known to be written: those after `last_login` are not in `logins_count`. */
  unwritten(userId: string): Date[];
};

export function openLastLogins(pool: Pool, log: Log): LastLogins {
  const logins = openWriteBehind<{ userId: string; address: string; date: Date }>({
    what: 'the time of last logins',
    log,
    write: (batch, { writer, numbers }) =>
      pool.query({
        name: 'last logins',
        // Ordered by id, so that two processes that note the same people do not wait for each other.
        text: `${withMark}, noted AS (
                 SELECT user_id, max(date) AS date, (array_agg(ip ORDER BY date DESC))[1] AS ip, count(*) AS logins
                 FROM mark, unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[]) AS login (number, user_id, date, ip)
                 WHERE number > before GROUP BY user_id
               ), locked AS (
                 SELECT user_id FROM accounts WHERE user_id = ANY ($3) AND EXISTS (SELECT FROM noted) ORDER BY user_id FOR NO KEY UPDATE
               )
               UPDATE accounts SET last_login = greatest(last_login, noted.date),
                 last_ip = CASE WHEN last_login > noted.date THEN last_ip ELSE noted.ip END,
                 logins_count = logins_count + noted.logins
               FROM noted JOIN locked USING (user_id) WHERE accounts.user_id = noted.user_id`,
        values: [
          writer,
          numbers,
          batch.map(({ userId }) => userId),
          batch.map(({ date }) => date),
          batch.map(({ address }) => address),
        ],
      }),
  });
  return {
    note: (userId, address) => logins.add({ userId, address, date: new Date() }),
    unwritten: (userId) =>
      logins
        .waiting()
        .filter((login) => login.userId === userId)
        .map(({ date }) => date),
    [Symbol.asyncDispose]: () => logins[Symbol.asyncDispose](),
  };
}
