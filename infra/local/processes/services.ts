/** Our three services, and the demo application, as processes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryTimeoutMs, supervisedStopMs } from '@gatepost/contracts/stopping';
import { metaOf, readEnv, type VariableMeta } from '@gatepost/runtime/env';
import type { z } from 'zod';
import type { Context } from '../commands/command.ts';
import { type Child, launcher } from './child.ts';
import { rootFolder } from './home.ts';
import { Trouble } from './trouble.ts';

export const serviceNames = ['auth', 'webhook-api', 'dispatcher'];

/** What a service reads from its environment. By path: infra does not depend on services. */
async function variablesOf(name: string): Promise<z.ZodObject> {
  return (await import(join(rootFolder, 'services', name, 'src/config.ts'))).variables;
}

/** All variables that a service reads, by name. */
export async function findVariables(): Promise<Map<string, VariableMeta>> {
  const all = await Promise.all(serviceNames.map(variablesOf));
  return new Map(all.flatMap(({ shape }) => Object.entries(shape).map(([name, field]) => [name, metaOf(field)])));
}

/** Runs before stores are started for nothing. @throws Trouble with every variable that a service would refuse */
export async function checkVariables(env: NodeJS.ProcessEnv): Promise<void> {
  const wrong: string[] = [];
  for (const name of serviceNames) {
    const variables = await variablesOf(name);
    process.chdir(join(rootFolder, 'services', name)); // relative paths as the service sees them
    try {
      readEnv(variables, env);
    } catch (error) {
      wrong.push(`${name}: ${(error as Error).message}`);
    }
  }
  process.chdir(rootFolder);
  if (wrong.length > 0) throw new Trouble(...wrong);
}

/** Services have their own deadlines; this is the longest possible one. */
export const serviceStopMs = supervisedStopMs(deliveryTimeoutMs.max);

export const demoPort = 4599; // as in the callback of the demo application's client

type Place = Pick<Context, 'env' | 'home' | 'say' | 'signal' | 'stack'>;

/**
 * Returns a function that starts a service, or another program of ours, from its environment and waits until it is ready, and that throws
 * Trouble with its output. Can be called again after it died.
 */
export function serviceLauncher(name: string, place: Place, folder = `services/${name}`): () => Promise<Child> {
  const { env, say, signal } = place;
  const cwd = join(rootFolder, folder);
  // Only its package.json has its start command, with the flags that limit its memory.
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  let isReady = false;
  // A service sends 'ready', and then its news: each mail that it has sent, with the link.
  const onMessage = (said: unknown) => {
    isReady ||= said === 'ready';
    const { news } = said as { news?: string };
    if (news) say.about('mail', news);
  };
  const program = { name, command: '/bin/sh', args: ['-c', `exec env ${scripts.start}`], env, cwd, signal };
  const server = { ...program, onMessage, letsIn: async () => isReady, stopDeadlineMs: serviceStopMs };
  const launch = launcher(place, server);
  return () => {
    isReady = false;
    return launch();
  };
}
