/** Starts and queries the receiver of receiver.ts. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const secret = 'bench-secret-bench-secret';

export type ReceiverProcess = Disposable & {
  process: ChildProcess;
  url: string;
  ask<T>(question: 'count' | 'report' | 'reset'): Promise<T>;
};

/** `hangs`: it accepts every request and never answers. */
export async function startReceiver({ hangs = false } = {}): Promise<ReceiverProcess> {
  return forkReceiver(new URL('./receiver.ts', import.meta.url), [secret, hangs ? 'hang' : 'answer']);
}

/** Starts any program that sends its port when it listens, and then answers queries. */
export async function forkReceiver(program: URL, args: string[] = []): Promise<ReceiverProcess> {
  const child = fork(fileURLToPath(program), args);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    process: child,
    url: `http://127.0.0.2:${port}/hook`,
    async ask<T>(question: string) {
      const answer = once(child, 'message');
      child.send(question);
      return (await answer)[0] as T;
    },
    [Symbol.dispose]: () => child.disconnect(),
  };
}
