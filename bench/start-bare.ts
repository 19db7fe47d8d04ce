/** Starts oidc-provider alone (`bare-provider.ts`), for comparison. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePorts } from '@gatepost/testkit/system';

/** `library`: what it imports, by name or URL. */
export async function startBare(library: string): Promise<Disposable & { port: number; pid: number }> {
  const [port] = (await freePorts(1)) as [number];
  const file = fileURLToPath(new URL('./bare-provider.ts', import.meta.url));
  const child = fork(file, [String(port), library], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]): never => {
    throw new Error(`bare oidc-provider ended with ${code}`);
  });
  ended.catch(() => {}); // at the end this is expected
  await Promise.race([once(child, 'message'), ended]);
  return { port, pid: child.pid!, [Symbol.dispose]: () => void child.kill() };
}
