import { findOurs } from '../local/commands/environment.ts';

const others = /^(PG[A-Z]+|FORCE_COLOR)$/;

/** The environment for programs under test: nothing that leads to anybody's data or changes a default. */
export async function cleanEnv(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const isOurs = await findOurs();
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name) && !others.test(name)));
}
