/** A process without any network: an empty network namespace, where the system lets us make one (Linux, with root or user namespaces). */
import { execFile } from 'node:child_process';

const ways = [
  ['unshare', '--net'],
  ['unshare', '--user', '--map-root-user', '--net'],
];

/** What a command begins with to run there; empty where there is no way. Asked once. */
export async function findNetworkNamespace(): Promise<string[]> {
  for (const [command, ...args] of ways as [string, ...string[]][])
    if (await works(command, [...args, process.execPath, '--version'])) return [command, ...args];
  return [];
}

function works(command: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 10_000, env: {} }, (error) => resolve(error === null));
  });
}
