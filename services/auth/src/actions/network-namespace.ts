/** Runs a process without any network: in an empty network namespace, where the system allows one (Linux, with root or user namespaces). */
import { execFile } from 'node:child_process';

const ways = [
  ['unshare', '--net'],
  ['unshare', '--user', '--map-root-user', '--net'],
];

/** The command prefix for running there; empty if it is impossible. @throws if the system could not try it now */
export async function findNetworkNamespace(): Promise<string[]> {
  for (const [command, ...args] of ways as [string, ...string[]][])
    if (await succeeds(command, [...args, process.execPath, '--version'])) return [command, ...args];
  return [];
}

function succeeds(command: string, args: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 10_000, env: {} }, (error) => {
      // Other errors, such as too few descriptors, processes or too little time, are those of a moment.
      const isAnswer = !error || typeof error.code === 'number' || ['ENOENT', 'EACCES'].includes(String(error.code));
      if (isAnswer) resolve(error === null);
      else reject(error);
    });
  });
}
