/** TCP ports of this machine: does anything answer there, and who holds one. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
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
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return pid ? `process ${pid} (${words.split('\0').slice(0, 3).join(' ').trim().slice(0, 80)})` : 'another process';
}
