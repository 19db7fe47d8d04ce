/** Clients with types: what GitHub's own types say of our pings, and a client that is generated from our description. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, call, openApi } from './support/api.ts';
import { type Jobs, openJobs } from './support/jobs.ts';

const run = promisify(execFile);
const packageFolder = path.resolve(import.meta.dirname, '..');
const root = path.resolve(packageFolder, '../..');
const tool = (name: string, from = packageFolder) => path.join(from, 'node_modules/.bin', name);

let api: Api;
let jobs: Jobs;
let token: string;
/** A folder outside of the project, with what this package has installed. */
let folder: string;

beforeAll(async () => {
  api = await openApi();
  jobs = await openJobs(api);
  token = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
  folder = await mkdtemp(path.join(tmpdir(), 'typed-clients-'));
  await symlink(path.join(packageFolder, 'node_modules'), path.join(folder, 'node_modules'));
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
});
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true });
  await jobs?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** Compiles a program to JavaScript. @throws what the compiler finds wrong. */
async function compile(file: string, text: string): Promise<void> {
  await writeFile(path.join(folder, file), text);
  const types = ['--typeRoots', path.join(root, 'node_modules/@types'), '--types', 'node'];
  const options = ['--strict', '--skipLibCheck', '--target', 'es2024', '--module', 'nodenext', ...types];
  const { stdout } = await run(tool('tsc', root), [...options, file], { cwd: folder }).catch((error) => {
    throw new Error(error.stdout);
  });
  expect(stdout).toBe('');
}

const makeHook = (place: string) =>
  call(api, token, 'POST', `${place}/hooks`, {
    name: 'web',
    config: { url: 'https://example.com/', content_type: 'json', secret: 's' },
    events: ['push', 'issues'],
  });

test("Probot's and @octokit/webhooks' types read our pings", async () => {
  const pings: unknown[] = [];
  for (const place of ['/repos/acme/widgets', '/orgs/acme']) {
    const { body } = await makeHook(place);
    pings.push((await jobs.next(({ job }) => job.hookId === body.id && job.event === 'ping')).payload);
  }
  // As a parameter's type, so that what is ours beside GitHub's properties is no fault.
  await compile(
    'pings.ts',
    `import type { EmitterWebhookEvent } from '@octokit/webhooks';
     import type { Context } from 'probot';
     declare function read<Ping extends EmitterWebhookEvent<'ping'>['payload'] & Context<'ping'>['payload']>(ping: Ping): void;
     ${pings.map((ping) => `read(${JSON.stringify(ping)});`).join('\n')}`,
  );
  await expect(
    compile(
      'no-ping.ts',
      `import type { Context } from 'probot';
     declare function read<Ping extends Context<'ping'>['payload']>(ping: Ping): void;
     read({ repository: { id: 1 } });`,
    ),
  ).rejects.toThrow('is missing the following properties');
});

test('a client made by openapi-typescript compiles, and lists hooks', async () => {
  const { body: hook } = await makeHook('/repos/acme/gadgets');
  await run(tool('openapi-typescript'), [`${api.base}/openapi.json`, '--output', 'api.ts'], { cwd: folder });
  await compile(
    'client.ts',
    `import createClient from 'openapi-fetch';
     import type { paths } from './api.js';
     const [, , baseUrl, token] = process.argv;
     const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
     const place = { owner: 'acme', repo: 'gadgets' };
     const { data, error } = await client.GET('/repos/{owner}/{repo}/hooks', { params: { path: place, query: { per_page: 5 } } });
     if (error) throw new Error(error.message);
     for (const { id, config, events, last_response } of data) console.log(id, config.url, events.join(), last_response.status);
     const missing = await client.GET('/repos/{owner}/{repo}/hooks/{hook_id}', { params: { path: { ...place, hook_id: 1e6 } } });
     console.log(missing.response.status, missing.error?.message);`,
  );
  const { stdout } = await run(process.execPath, ['client.js', `${api.base}/api/v3`, token], { cwd: folder });
  expect(stdout).toBe(`${hook.id} https://example.com/ push,issues unused\n404 Not Found\n`);
});
