import pg from 'pg';

/**
 * Records the statements that requests cost, without the heartbeats of notifications, what is written later for several requests at once,
 * and what a new connection is asked: on a busy machine those run during any request.
 */
export function recordStatements(): { texts: string[] } & Disposable {
  const texts: string[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [asked, values] = given as [string | { name?: string; text: string }, unknown];
    const { name = '', text } = typeof asked === 'string' ? { text: asked } : asked;
    const isHeartbeat = text.startsWith('SELECT pg_notify(') && String(values).startsWith('gatepost_heard_');
    const isOfConnection = text.startsWith('SELECT pg_is_in_recovery()');
    if (!isHeartbeat && !isOfConnection && !/^(?:audit insert|last logins)$/.test(name)) texts.push(text);
    return Reflect.apply(query, this, given);
  } as typeof query;
  return {
    texts,
    [Symbol.dispose]() {
      pg.Client.prototype.query = query;
    },
  };
}
