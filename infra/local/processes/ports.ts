/** TCP ports of this machine: does anything answer there, and who holds one. */
import { once } from 'node:events';
import { readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { runToEnd } from './child.ts';

/** Does anything accept connections there? */
export async function answers(port: number, host = '127.0.0.1'): Promise<boolean> {
  const socket = connect({ port, host });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(500) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The process that listens on the port, where `ss` is installed and tells (Linux, and only processes that we may look at). */
export async function holderOf(port: number): Promise<string> {
  const { output } = await runToEnd('ss', ['-Hltnp', `sport = :${port}`]);
  const pid = /pid=(\d+)/.exec(output)?.[1];
  if (!pid) return 'another process';
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  // What runs, without the options of Node before it; and where, since many a program is `dist/main.js`.
  const shown = words.filter((word, at) => at === 0 || !/^--\w/.test(word)).slice(0, 3);
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '');
  return `process ${pid} (${shown.join(' ').trim().slice(0, 80)}${folder && ` in ${folder}`})`;
}
