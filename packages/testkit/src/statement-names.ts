/**
 * Imported before a program's own files: each name of a prepared statement stands for one text in the whole process. pg refuses another text only on the
 * connection that has prepared the first, so that without this it takes luck to find such a fault.
 */
import pg from 'pg';

const client = pg.Client.prototype as { query: (...given: unknown[]) => unknown };
const { query } = client;
const texts = new Map<string, string>();
client.query = function (...given) {
  const { name, text } = Object(given[0]) as { name?: string; text?: string };
  if (name !== undefined && text !== undefined) {
    if ((texts.get(name) ?? text) !== text)
      throw new Error(`two texts are called ${name}:\n${texts.get(name)}\n${text}`);
    texts.set(name, text);
  }
  return query.apply(this, given);
};
