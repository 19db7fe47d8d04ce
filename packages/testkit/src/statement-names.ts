/**
 * Imported before a program's own files: checks that each prepared statement's name stands for one text in the whole process. pg refuses a
 * different text only on the connection that prepared the first, so without this, finding such a fault takes luck.
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
