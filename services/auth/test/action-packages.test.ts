/** Actions written for Auth0 name npm packages and require them; the operator’s folder has what they may use. */
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openActionPackages } from '../src/actions/packages.ts';
import { openActionsGate } from './actions.ts';
import { makeNpmFolder } from './npm-folder.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const npm = stack.use(makeNpmFolder(['auth0', 'axios', 'lodash']));
npm.write('only-esm', {
  'package.json': '{"name":"only-esm","version":"2.3.4-beta.1","type":"module","exports":"./index.js"}',
  'index.js': `import { createHash } from 'node:crypto'; export const hash = (text) => createHash('sha256').update(text).digest('hex');`,
});
const byFiles = mkdtempSync(join(tmpdir(), 'actions-'));
mkdirSync(join(byFiles, 'post-login'));
writeFileSync(
  join(byFiles, 'post-login', 'initials.js'),
  `const { words } = require('lodash');
   exports.onExecutePostLogin = async (event, api) => api.idToken.setCustomClaim('https://mine.example/words', words('one two'));`,
);
const asked: string[] = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  asked.push(`${request.method} ${request.url} ${body}`.trim());
  response.setHeader('set-cookie', ['a=1', 'b=2']);
  if (request.url === '/away') response.writeHead(302, { location: '/here' });
  const answer = JSON.stringify({ at: request.url, key: request.headers['x-key'] });
  if (request.url === '/packed') response.setHeader('content-encoding', 'gzip').end(gzipSync(answer));
  else response.end(answer);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
stack.defer(() => void server.close());
const at = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
const gate = stack.use(
  await openActionsGate({
    ACTIONS_PACKAGES: npm.folder,
    ACTIONS_DIR: byFiles,
    ACTIONS_ALLOWED_HOSTS: '127.0.0.1',
    ACTIONS_TIMEOUT_MS: '20000',
    OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8',
  }),
);
const { manage, machine, set, signIn } = gate;
const trigger = 'credentials-exchange';
const latest = (...names: string[]) => names.map((name) => ({ name, version: 'latest' }));
const claim = (value: string) => `api.accessToken.setCustomClaim('https://mine.example/a', ${value});`;
const claimed = async () => (await machine()).access['https://mine.example/a'];
const made = (body: object) =>
  manage('POST', 'actions/actions', {
    name: `action ${Math.random()}`,
    supported_triggers: [{ id: trigger }],
    code: 'exports.onExecuteCredentialsExchange = async () => {};',
    ...body,
  });

describe('an action', () => {
  test('calls another service with axios, through the gate', async () => {
    await set(trigger, {
      before: `const axios = require('axios').default;`,
      dependencies: latest('axios'),
      secrets: { KEY: 'of the service' },
      body: `const posted = await axios.post('${at}/check', { client: event.client.client_id }, { headers: { 'x-key': event.secrets.KEY }, timeout: 10_000 });
        const moved = await axios.get('${at}/away');
        const raw = await new Promise((resolve, reject) => {
          const options = { method: 'POST', headers: ['x-key', 'one', 'x-key', 'two'] };
          require('http').request('${at}/raw', options, resolve).on('error', reject).end('sent');
        });
        const gone = await axios.get('${at.replace('127.0.0.1', 'localhost')}/').catch((error) => error.message);
        ${claim(`[posted.status, posted.data, posted.headers['set-cookie'], moved.data.at, raw.statusCode, gone]`)}`,
    });
    expect(await claimed()).toEqual([
      200,
      { at: '/check', key: 'of the service' },
      ['a=1', 'b=2'],
      '/here',
      200,
      expect.stringContaining('ACTIONS_ALLOWED_HOSTS'),
    ]);
    expect(asked).toEqual(['POST /check {"client":"machine"}', 'GET /away', 'GET /here', 'POST /raw sent']);
  });

  test('gets a compressed answer decoded by axios and fetch, and as it was sent by http', async () => {
    await set(trigger, {
      dependencies: latest('axios'),
      body: `const { data } = await require('axios').default.get('${at}/packed');
        const fetched = await (await fetch('${at}/packed')).json();
        const raw = await new Promise((resolve, reject) => require('http').get('${at}/packed', resolve).on('error', reject));
        const parts = [];
        for await (const part of raw) parts.push(part);
        const unpacked = JSON.parse(require('zlib').gunzipSync(Buffer.concat(parts)));
        ${claim(`[raw.headers['content-encoding'], ...[data, fetched, unpacked].map((said) => said.at)]`)}`,
    });
    expect(await claimed()).toEqual(['gzip', '/packed', '/packed', '/packed']);
  });

  test('computes with lodash, and with a package of ES modules', async () => {
    await set(trigger, {
      before: `const _ = require('lodash'); const { hash } = require('only-esm');`,
      dependencies: latest('lodash', 'only-esm'),
      body: `const { hash: again } = await import('only-esm'); ${claim(`[_.chunk(_.uniq([1, 1, 2, 3]), 2), hash('x') === again('x')]`)}`,
    });
    expect(await claimed()).toEqual([[[1, 2], [3]], true]);
  });

  test('has auth0’s ManagementClient, whose requests go through the gate too', async () => {
    await set(trigger, {
      before: `const { ManagementClient } = require('auth0');`,
      dependencies: latest('auth0'),
      body: `const management = new ManagementClient({ domain: 'tenant.example', token: 'x', maxRetries: 0 });
        ${claim(`await management.users.get('auth0|1').catch((error) => error.message)`)}`,
    });
    expect(await claimed()).toContain('tenant.example is not among ACTIONS_ALLOWED_HOSTS');
  });

  test('cannot use a package that only another action lists', async () => {
    await set(trigger, {
      dependencies: latest('axios'),
      body: `const tries = ['lodash', 'follow-redirects', 'axios/../lodash', './lodash', '${npm.folder}/node_modules/lodash'];
        const open = []; for (const name of tries) { try { require(name); open.push(name); } catch {} try { await import(name); open.push(name); } catch {} }
        ${claim('open')}`,
    });
    expect(await claimed()).toEqual([]);
  });

  test('from the folder of actions can use what the package.json of the package folder lists', async () => {
    expect((await signIn()).id['https://mine.example/words']).toEqual(['one', 'two']);
  });

  test('is tried out with its packages', async () => {
    const { body } = await made({
      code: `const _ = require('lodash'); exports.onExecuteCredentialsExchange = async () => console.log(_.capitalize('tried'));`,
      dependencies: latest('lodash'),
    });
    const { body: tried } = await manage('POST', `actions/actions/${body.id}/test`, { payload: {} });
    expect(tried.payload).toEqual({ commands: [], logs: ['Tried'] });
  });
});

test('the gate does not start with a package folder that lacks node_modules or has an invalid package.json', () => {
  const folder = mkdtempSync(join(tmpdir(), 'no-packages-'));
  expect(() => openActionPackages(folder)).toThrow('ACTIONS_PACKAGES');
  mkdirSync(join(folder, 'node_modules'));
  expect(openActionPackages(folder).listed).toEqual([]);
  writeFileSync(join(folder, 'package.json'), '{"dependencies":{"../../x":"1.0.0"}}');
  expect(() => openActionPackages(folder)).toThrow('ACTIONS_PACKAGES');
});

describe('dependencies of an action', () => {
  test('are returned as they were given, with the action and with each version', async () => {
    const dependencies = [
      { name: 'axios', version: '1.x' },
      { name: 'lodash', version: 'latest' },
    ];
    const { status, body } = await made({ dependencies, deploy: true });
    expect([status, body.dependencies, body.deployed_version.dependencies]).toEqual([201, dependencies, dependencies]);
    const path = `actions/actions/${body.id}`;
    const sentBack = await manage('PATCH', path, (await manage('GET', path)).body);
    expect([sentBack.status, sentBack.body.all_changes_deployed]).toEqual([200, true]);
    const changed = await manage('PATCH', path, { dependencies: [{ name: 'only-esm', version: '>=2.0.0' }] });
    expect(changed.body).toMatchObject({ all_changes_deployed: false, deployed_version: { dependencies } });
    await manage('PATCH', path, { code: `${body.code}//` });
    expect((await manage('POST', `${path}/deploy`)).body.dependencies).toEqual([
      { name: 'only-esm', version: '>=2.0.0' },
    ]);
    const first = `${path}/versions/${body.deployed_version.id}`;
    expect((await manage('GET', first)).body.dependencies).toEqual(dependencies);
    await manage('POST', `${first}/deploy`, { update_draft: true });
    expect((await manage('GET', path)).body).toMatchObject({ dependencies, all_changes_deployed: true });
    expect((await manage('PATCH', path, { dependencies: [] })).body.dependencies).toEqual([]);
  });

  test.each([
    ['a package that is not there', [{ name: 'left-pad', version: '1.0.0' }], 'left-pad is not installed here'],
    ['another version', [{ name: 'axios', version: '0.21.4' }], 'axios 0.21.4 is not installed here, but 1.'],
    ['no version', [{ name: 'axios', version: 'newest' }], 'axios: newest is not a version'],
    ['a path', [{ name: '../../etc', version: 'latest' }], 'Not the name of a package'],
    ['a path below a scope', [{ name: '@a/../../etc', version: 'latest' }], 'Not the name of a package'],
    ['one package twice', latest('axios', 'axios'), 'same name'],
    [
      'two packages that are not there',
      latest('axios', 'one', 'two'),
      'one is not installed here; two is not installed here',
    ],
  ])('are refused when they name %s', async (_what, dependencies, said) => {
    const refused = {
      status: 400,
      body: expect.objectContaining({
        statusCode: 400,
        errorCode: 'invalid_body',
        message: expect.stringContaining(said),
      }),
    };
    expect(await made({ dependencies })).toEqual(refused);
    const { body } = await made({});
    expect(await manage('PATCH', `actions/actions/${body.id}`, { dependencies })).toEqual(refused);
  });

  test('that were removed from the folder prevent a deployment of the action', async () => {
    const path = npm.write('leaves', { 'index.js': '' });
    const { body } = await made({ dependencies: latest('leaves'), deploy: true });
    renameSync(path, `${path}-away`);
    for (const deploy of ['deploy', `versions/${body.deployed_version.id}/deploy`])
      expect(await manage('POST', `actions/actions/${body.id}/${deploy}`, {})).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('leaves is not installed here') },
      });
  });
});
