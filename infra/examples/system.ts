/** The system that documents and quick starts are tried against: the running `npm start`, or our own on the same ports. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@gatepost/testkit/until';
import type { Context } from '../local/commands/command.ts';
import { trustVariables } from '../local/processes/certificates.ts';
import { startChild } from '../local/processes/child.ts';
import { logFile, makeFolder, rootFolder } from '../local/processes/home.ts';
import { answers } from '../local/processes/ports.ts';
import { logEnd, Trouble } from '../local/processes/trouble.ts';

const gatePort = 4400;
const startMs = 300_000;

export type System = AsyncDisposable & {
  /** Its folder. */
  home: string;
  /** Variables that make programs trust its certificate. */
  trust: Record<string, string>;
};

export async function useSystem({
  env,
  home,
  say,
  signal,
}: Pick<Context, 'env' | 'home' | 'say' | 'signal'>): Promise<System> {
  if (await answers(gatePort)) {
    say.about('system', 'the running `npm start`');
    return { home, trust: trustOf(home), [Symbol.asyncDispose]: async () => {} };
  }
  const own = makeFolder(join(home, 'tried'));
  // Not beside its own logs, which it moves away on startup.
  const log = logFile(home, 'tried');
  rmSync(log, { force: true });
  const args = [
    '--conditions=source',
    join(rootFolder, 'infra/local/commands/command.ts'),
    'infra/local/commands/start.ts',
    '--private',
    '--fresh',
  ];
  return say.step('system', 'a `npm start` of its own', async () => {
    const child = startChild({
      command: process.execPath,
      args,
      cwd: rootFolder,
      env: { ...env, GATEPOST_HOME: own },
      log,
      stopDeadlineMs: 60_000,
    });
    const isReady = () => child.hasExited() || logEnd(log).join('\n').includes('Ctrl-C stops');
    await until('`npm start`', isReady, startMs, signal).catch(() => {});
    if (child.hasExited() || !isReady()) {
      await child[Symbol.asyncDispose]();
      throw new Trouble(`npm start did not get ready; ${log}:`, ...logEnd(log));
    }
    return { home: own, trust: trustOf(own), [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
  });
}

function trustOf(home: string): Record<string, string> {
  return Object.fromEntries(trustVariables.map((name) => [name, join(home, 'tls/bundle.pem')]));
}

/** Deletes hooks of acme/widgets to this port left by an earlier run: creating one twice is refused. */
export async function dropHooksAt(port: number): Promise<void> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-m2m',
    client_secret: 'demo-m2m-secret',
    audience: 'http://localhost:4500/',
  });
  const granted = await fetch(`http://localhost:${gatePort}/oauth/token`, { method: 'POST', body: form });
  const { access_token: token } = (await granted.json()) as { access_token: string };
  const hooksUrl = 'http://localhost:4500/repos/acme/widgets/hooks';
  const headers = { authorization: `Bearer ${token}`, 'user-agent': 'gatepost-examples' };
  const listed = await fetch(`${hooksUrl}?per_page=100`, { headers });
  const hooks = (await listed.json()) as { id: number; config: { url: string } }[];
  for (const { id, config } of hooks)
    if (new URL(config.url).port === String(port)) await fetch(`${hooksUrl}/${id}`, { method: 'DELETE', headers });
}
