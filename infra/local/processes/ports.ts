/** TCP ports of this machine: which are free, who holds one, does anything answer there. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { runToEnd } from './child.ts';

// Below the ports that Linux gives to outgoing connections, any of which could be taken by the time a server listens there.
const lowest = 20_000;
const highest = 32_000;

/** The remembered port while it is free, else a free port of 127.0.0.1, picked at random so that two that ask rarely meet. */
export async function freePort(remembered?: number): Promise<number> {
  if (remembered !== undefined && (await isFree(remembered))) return remembered;
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${lowest} and ${highest}`);
}

export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    return true;
  } catch {
    return false; // EADDRINUSE, or EACCES below 1024
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Does anything accept connections there? */
export function answers(port: number, host = '127.0.0.1', timeoutMs = 500): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(timeoutMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

export type Holder = { pid: number; command: string };

/** The process that listens on the port, where `ss` is installed and tells (Linux, and only processes that we may look at). */
export async function findHolder(port: number): Promise<Holder | undefined> {
  const { output } = await runToEnd('ss', ['-Hltnp', `sport = :${port}`]);
  const pid = Number(/pid=(\d+)/.exec(output)?.[1]);
  if (!pid) return undefined;
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return { pid, command: words.slice(0, 3).join(' ').trim().slice(0, 80) };
  } catch {
    return undefined; // it has just ended
  }
}
