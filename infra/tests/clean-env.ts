import { ours } from '../local/commands/environment.ts';

const others = /^(LOG_LEVEL|NODE_ENV|PG[A-Z]+|FORCE_COLOR)$/;

/** The environment for programs under test: nothing that leads to anybody's data or changes a default. */
export function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name) && !others.test(name)));
}
