/** TCP ports of this machine: which are free, who holds one, does anything answer there. */
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';

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

export type Holder = { pid: number; name: string };

/** The process that listens on the port, where the machine shows it (Linux, and only processes that we may look at). */
export function findHolder(port: number): Holder | undefined {
  const inodes = listeningInodes(port);
  if (inodes.size === 0) return undefined;
  for (const pid of readFolder('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const fd of readFolder(`/proc/${pid}/fd`)) {
      if (inodes.has(readLink(`/proc/${pid}/fd/${fd}`))) return { pid: Number(pid), name: nameOf(pid) };
    }
  }
  return undefined;
}

/** `socket:[inode]` of every listener on the port, from /proc/net/tcp (proc(5)). */
function listeningInodes(port: number): Set<string> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const listening = '0A';
  const inodes = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const row of readText(table).split('\n').slice(1)) {
      const columns = row.trim().split(/\s+/);
      if (columns[1]?.endsWith(`:${hex}`) && columns[3] === listening) inodes.add(`socket:[${columns[9]}]`);
    }
  }
  return inodes;
}

function nameOf(pid: string): string {
  const words = readText(`/proc/${pid}/cmdline`)
    .split('\0')
    .filter((word) => word !== '');
  return words.length > 0 ? words.slice(0, 3).join(' ').slice(0, 80) : readText(`/proc/${pid}/comm`).trim();
}

// Processes come and go, and others' are closed to us: what cannot be read is not there.

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
