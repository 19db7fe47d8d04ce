/**
 * A PostgreSQL that loses every COMMIT once, as its clients see it: a relay in front of the real one cuts the connection when a transaction
 * ends. Half of them are committed without the client learning of it, the others never reach the server. A repeated request goes through.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Framed, makeFrames, openRelay, type Relay } from './relay.ts';

export type LostCommits = Relay & { lost(): { committed: number; notCommitted: number } };

/** `random`: decides between the two, from 0 to 1. */
export async function openLostCommits(databaseUrl: string, random: () => number): Promise<LostCommits> {
  const seen = new Map<string, number>();
  const lost = { committed: 0, notCommitted: 0 };
  /** A statement with its values is lost the first time. A COMMIT does not show what it commits: every other one is lost. */
  const isLost = (key: string, isCommit: boolean) => {
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return isCommit ? times % 2 === 0 : times === 0;
  };

  const relay = await openRelay(databaseUrl, (client, server) => {
    const statements = new Map<string, string>();
    let inTransaction = false;
    let unit: Framed[] = [];
    let begunWith = '';
    // Once set, the client receives nothing more, and the connection ends with the server's answer.
    let ending = false;

    const answered = (frames: Framed[]) => {
      for (const { type, bytes } of frames) {
        if (type === 'Z') inTransaction = bytes[5] !== 0x49; // 'I': idle
        if (ending && type === 'Z') {
          client.destroy();
          server.destroy();
        }
        if (!ending) client.write(bytes);
      }
    };
    const asked = (frames: Framed[]) => {
      for (const frame of frames) {
        unit.push(frame);
        if (partsOfRequests.has(frame.type)) continue;
        const request = unit;
        unit = [];
        const { sql, values } = read(request, statements);
        if (/^BEGIN/i.test(sql)) begunWith = '';
        else if (begunWith === '') begunWith = sql;
        const isCommit = /^COMMIT/i.test(sql);
        const ends = isCommit || (!inTransaction && /\b(INSERT|UPDATE|DELETE)\b/i.test(sql));
        if (ends && isLost(isCommit ? `COMMIT ${begunWith}` : hash(sql, values), isCommit)) {
          if (random() < 0.5) {
            lost.notCommitted += 1;
            client.destroy();
            server.destroy();
            return;
          }
          lost.committed += 1;
          ending = true;
        }
        for (const { bytes } of request) server.write(bytes);
      }
    };
    pump(client, makeFrames(postgresFrame(true)), asked);
    pump(server, makeFrames(postgresFrame(false)), answered);
  });
  return Object.assign(relay, { lost: () => ({ ...lost }) });
}

/** Parse, bind, describe, execute, close: the request is complete with what follows them. */
const partsOfRequests = new Set(['P', 'B', 'D', 'E', 'C']);

function pump(from: Socket, frames: (chunk: Buffer) => Framed[], to: (frames: Framed[]) => void): void {
  from.on('data', (chunk) => to(frames(chunk)));
}

/** A type and a length that includes itself; the client's first message has no type. */
function postgresFrame(hasStartup: boolean) {
  let isFirst = hasStartup;
  return (bytes: Buffer): Framed | undefined => {
    const typeBytes = isFirst ? 0 : 1;
    if (bytes.length < typeBytes + 4) return undefined;
    const length = typeBytes + bytes.readUInt32BE(typeBytes);
    if (bytes.length < length) return undefined;
    const type = isFirst ? 'startup' : String.fromCharCode(bytes[0]!);
    isFirst = false;
    return { type, bytes: bytes.subarray(0, length) };
  };
}

/** The content of one request: its SQL, looked up by name if it was prepared before, and its values. */
function read(request: Framed[], statements: Map<string, string>): { sql: string; values: Buffer } {
  let sql = '';
  let values: Buffer = Buffer.alloc(0);
  for (const { type, bytes } of request) {
    if (type === 'Q') sql = textAt(bytes, 5);
    if (type === 'P') {
      const name = textAt(bytes, 5);
      sql = textAt(bytes, 5 + Buffer.byteLength(name) + 1);
      statements.set(name, sql);
    }
    if (type === 'B') {
      const portal = textAt(bytes, 5);
      const name = textAt(bytes, 5 + Buffer.byteLength(portal) + 1);
      sql = statements.get(name) ?? sql;
      values = bytes;
    }
  }
  return { sql, values };
}

const textAt = (bytes: Buffer, start: number) => bytes.toString('utf8', start, bytes.indexOf(0, start));
const hash = (sql: string, values: Buffer) => createHash('sha1').update(sql).update(values).digest('base64');
