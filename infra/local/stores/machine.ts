/** What the machine offers beyond the stores themselves, asked for when it is needed, and once. */
import { findInstaller } from './debian.ts';
import { findDocker } from './docker.ts';
import type { Machine } from './stores.ts';

export function openMachine(env: NodeJS.ProcessEnv, home: string, signal: AbortSignal): Machine {
  let docker: ReturnType<Machine['docker']> | undefined;
  let installer: ReturnType<Machine['installer']> | undefined;
  return {
    env,
    docker() {
      docker ??= findDocker(home, signal, env.PATH);
      return docker;
    },
    installer() {
      installer ??= findInstaller(signal, env.PATH);
      return installer;
    },
  };
}
