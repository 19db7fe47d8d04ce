/** A delivery as received from the socket, and as stored by `--record`. */
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readInput } from '../input.ts';
import { usage } from '../problem.ts';
import type { Json } from '../session/api.ts';
import { signatures } from '../sign.ts';

export type Delivery = {
  /** The frame's id, repeated in the answer. */
  id: string;
  /** Names as received, in Go's spelling. */
  headers: Record<string, string[]>;
  body: Buffer;
};

/** The first value of a header, however it is spelled. */
function headerOf({ headers }: Delivery, name: string): string | undefined {
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name);
  return found?.[1][0];
}

export const eventOf = (delivery: Delivery): string => headerOf(delivery, 'x-github-event') ?? '?';
export const guidOf = (delivery: Delivery): string => headerOf(delivery, 'x-github-delivery') ?? '?';

/** The payload, extracted from a form if necessary; undefined: it cannot be read. */
export function payloadOf({ body, ...delivery }: Delivery): Json | undefined {
  try {
    const isForm = headerOf({ body, ...delivery }, 'content-type')?.startsWith('application/x-www-form-urlencoded');
    const text = isForm ? (new URLSearchParams(body.toString()).get('payload') ?? '') : body.toString();
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Creates the folder of recordings. @throws Problem when nothing can be written there */
export function openRecordings(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw usage(`${folder} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Writes one file per delivery: its name sorts by time, and nothing received can influence its path. @returns its path */
export function record(folder: string, delivery: Delivery, at: Date): string {
  const word = (text: string) => text.replaceAll(/[^\w-]/g, '_').slice(0, 64);
  const time = at.toISOString().replaceAll(/[^\dTZ]/g, '');
  const file = path.join(folder, `${time}-${word(eventOf(delivery))}-${word(guidOf(delivery))}.json`);
  const text = delivery.body.toString();
  const isText = Buffer.from(text).equals(delivery.body);
  const kept = {
    headers: delivery.headers,
    body: isText ? text : delivery.body.toString('base64'),
    encoding: isText ? 'utf-8' : 'base64',
  };
  // A payload may be private, and the signature is derived from a secret.
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
  return file;
}

/** @throws Problem `usage` for a file that `record` did not write. */
export async function readRecorded(file: string): Promise<Delivery> {
  const text = await readInput(file);
  try {
    const { headers, body, encoding } = JSON.parse(text) as {
      headers: Record<string, string[]>;
      body: string;
      encoding: string;
    };
    if (typeof headers === 'object' && headers !== null && typeof body === 'string')
      return { id: '', headers, body: Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8') };
  } catch {
    // Reported below.
  }
  throw usage(`${file} is not what --record writes`);
}

/** As if it were sent now: receivers refuse a `webhook-timestamp` of long ago. */
export function signAnew(delivery: Delivery, secret: string): Delivery {
  const [id, time] = [guidOf(delivery), String(Math.floor(Date.now() / 1000))];
  const signed = { 'webhook-timestamp': time, ...signatures(secret, delivery.body, { id, time }) };
  const kept = Object.entries(delivery.headers).filter(([name]) => !signing.has(name.toLowerCase()));
  const headers = [...kept, ...Object.entries(signed).map(([name, value]) => [name, [value]])];
  return { ...delivery, headers: Object.fromEntries(headers) };
}

const signing = new Set(['x-hub-signature', 'x-hub-signature-256', 'webhook-timestamp', 'webhook-signature']);
