/** The tenant’s own code at Auth0’s triggers (https://auth0.com/docs/customize/actions/explore-triggers). */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openActionsGate, password } from './actions.ts';
import { linkIn } from './gate.ts';
import { api } from './seeds.ts';
import { recordStatements } from './statements.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const { texts: statements } = stack.use(recordStatements());

const folder = stack.adopt(await mkdtemp(join(tmpdir(), 'actions-')), (path) => rm(path, { recursive: true }));
await mkdir(join(folder, 'post-login'));
await writeFile(
  join(folder, 'post-login', '10-from-a-file.js'),
  'exports.onExecutePostLogin = async (event, api) => { api.idToken.setCustomClaim("from_a_file", event.secrets.GREETING); };',
);
await writeFile(join(folder, 'post-login', '10-from-a-file.secrets.json'), '{ "GREETING": "hello" }');
// A machine with much to do starts processes slowly.
const gate = stack.use(
  await openActionsGate({ ACTIONS_DIR: folder, ACTIONS_TIMEOUT_MS: '20000', OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8' }),
);
const { set, signIn, machine, byPassword, byExchange, manage, logs } = gate;
const mine = 'https://mine.example/';
/** The entry whose description says this. */
const logged = (q: string, said: string) =>
  until(`${said} in the log`, async () =>
    (await logs(q)).find(({ details }) => String(details.description).includes(said)),
  );

// As Auth0's documents have it.
const unmodified = `
  const namespace = '${mine}';
  if (event.authorization) {
    api.idToken.setCustomClaim(\`\${namespace}roles\`, event.authorization.roles);
    api.accessToken.setCustomClaim(\`\${namespace}roles\`, event.authorization.roles);
  }
  if (event.user.app_metadata.plan) api.accessToken.setCustomClaim(\`\${namespace}plan\`, event.user.app_metadata.plan);
  api.accessToken.setCustomClaim(\`\${namespace}seen\`, {
    email: event.user.email, client: event.client.client_id, connection: event.connection.strategy, ip: event.request.ip,
    protocol: event.transaction.protocol, methods: event.authentication.methods.map(({ name }) => name),
  });
  api.user.setAppMetadata('plan', 'gold');
  api.user.setUserMetadata('colour', 'blue');
`;

describe('a post-login action', () => {
  test('sets claims in tokens and keeps metadata, using the details of the sign-in', async () => {
    await set('post-login', unmodified);
    const first = await signIn();
    expect(first.id).toMatchObject({ from_a_file: 'hello', [`${mine}roles`]: [] });
    expect(first.access).toMatchObject({
      [`${mine}seen`]: {
        email: 'alice@example.com',
        client: 'web',
        connection: 'auth0',
        protocol: 'oidc-basic-profile',
        methods: ['pwd'],
      },
    });
    expect(first.access).not.toHaveProperty([`${mine}plan`]);
    expect((await signIn()).access).toMatchObject({ [`${mine}plan`]: 'gold' });
    expect((await manage('GET', 'users/auth0%7Calice')).body).toMatchObject({
      app_metadata: { plan: 'gold' },
      user_metadata: { colour: 'blue' },
    });
  });

  test('also runs for a refresh token, a password and an exchange, and for no other grant', async () => {
    await set('post-login', `api.accessToken.setCustomClaim('protocol', event.transaction.protocol);`);
    const { json, access } = await signIn();
    expect(access.protocol).toBe('oidc-basic-profile');
    const client = { client_id: 'web', client_secret: 'web-secret' };
    const refreshed = await gate.ask({ grant_type: 'refresh_token', ...client, refresh_token: json.refresh_token! });
    expect(refreshed.access.protocol).toBe('oauth2-refresh-token');
    expect((await byPassword()).access.protocol).toBe('oauth2-password');
    const exchanged = await byExchange(json.access_token!);
    expect(exchanged.access.protocol).toBe('oauth2-token-exchange');
    expect((await machine()).access).not.toHaveProperty('protocol');
  });

  test('is told the second factors that the person has, of which a passkey is none', async () => {
    await set(
      'post-login',
      `api.idToken.setCustomClaim('factors', [event.user.multifactor, event.user.enrolledFactors]);`,
    );
    const factors = async () => (await byPassword({ username: 'bob@example.com' })).id.factors;
    expect(await factors()).toEqual([[], []]);
    await gate.pool.query(
      `INSERT INTO authentication_methods (id, user_id, type, credential_id, public_key) VALUES ('passkey|b', 'auth0|bob', 'passkey', 'b', '\\x00')`,
    );
    expect(await factors()).toEqual([[], []]);
    const path = 'users/auth0%7Cbob';
    for (const body of [
      { type: 'totp', totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
      { type: 'phone', phone_number: '+15555550142' },
      { type: 'email', email: 'bob@example.com' },
    ])
      expect((await manage('POST', `${path}/authentication-methods`, body)).status).toBe(201);
    await manage('POST', `${path}/recovery-code-regeneration`);
    expect(await factors()).toEqual([
      ['totp', 'phone', 'email'],
      [{ type: 'otp' }, { type: 'phone', method: 'sms' }, { type: 'email' }, { type: 'recovery-code' }],
    ]);
    await gate.pool.query(`DELETE FROM authentication_methods WHERE user_id = 'auth0|bob'`);
  });

  test('is told the address that a trusted application states for its user, and so is the log', async () => {
    await set('post-login', `api.accessToken.setCustomClaim('from', event.request.ip);`);
    const form = { grant_type: 'password', username: 'alice@example.com', password, audience: api };
    const trusted = { ...form, client_id: 'trusted', client_secret: 'trusted-secret' };
    const from = { 'auth0-forwarded-for': '198.51.100.23' };
    const { access_token } = (await gate.post('oauth/token', trusted, from)).json;
    expect(decodeJwt(access_token as string).from).toBe('198.51.100.23');
    const entry = await until('the login in the log', async () =>
      (await logs('type:sepft')).find(({ ip }) => ip === '198.51.100.23'),
    );
    expect(entry.client_id).toBe('trusted');
  });

  test('can refuse a sign-in: the application and the log get its reason, and a refused refresh token stays valid', async () => {
    await set(
      'post-login',
      `if (event.transaction.protocol !== 'oidc-basic-profile' || event.request.query.login_hint) api.access.deny('Not on Mondays');`,
    );
    const { json } = await signIn();
    const { error } = await signIn({ login_hint: 'alice@example.com' });
    expect(Object.fromEntries(error)).toMatchObject({
      error: 'access_denied',
      error_description: 'Not on Mondays',
      state: 's',
    });
    expect(await byPassword()).toMatchObject({
      status: 403,
      json: { error: 'access_denied', error_description: 'Not on Mondays' },
    });
    const refresh = {
      grant_type: 'refresh_token',
      client_id: 'web',
      client_secret: 'web-secret',
      refresh_token: json.refresh_token!,
    };
    expect((await gate.ask(refresh)).status).toBe(403);
    await set('post-login');
    expect((await gate.ask(refresh)).status).toBe(200);
    const entry = await logged('type:f', 'Not on Mondays');
    expect(entry).toMatchObject({ details: { reason: 'denied_by_action', trigger: 'post-login' } });
    const [id] = (entry.details.actions as { executions: string[] }).executions;
    expect((await manage('GET', `actions/executions/${id}`)).body).toMatchObject({
      trigger_id: 'post-login',
      status: 'final',
      results: [{ error: { msg: 'Not on Mondays' } }],
    });
  });

  test('that refuses somebody keeps the metadata that it and the actions before it set, and none after it runs', async () => {
    await set(
      'post-login',
      `api.user.setUserMetadata('refused', (event.user.user_metadata.refused ?? 0) + 1);`,
      `api.user.setAppMetadata('refused_by', event.transaction.protocol); api.access.deny('Not today');`,
      `api.user.setAppMetadata('not_reached', true);`,
    );
    const kept = async () => (await manage('GET', 'users/auth0%7Calice')).body;
    expect((await signIn()).error.get('error_description')).toBe('Not today');
    const afterSignIn = await kept();
    expect(afterSignIn).toMatchObject({
      user_metadata: { refused: 1 },
      app_metadata: { refused_by: 'oidc-basic-profile' },
    });
    expect(afterSignIn.app_metadata).not.toHaveProperty('not_reached');
    expect((await byPassword()).status).toBe(403);
    expect(await kept()).toMatchObject({
      user_metadata: { refused: 2 },
      app_metadata: { refused_by: 'oauth2-password' },
    });
  });

  test('adds and removes scopes of the requested API', async () => {
    await set(
      'post-login',
      `api.accessToken.addScope('write:x').accessToken.removeScope('read:x'); api.accessToken.addScope('no:such');`,
    );
    const { scope, access } = await signIn();
    expect(scope.split(' ').sort()).toEqual(['email', 'offline_access', 'openid', 'profile', 'write:x']);
    expect(access.scope).toBe(scope);
  });

  test('cannot set the protocol’s own claims', async () => {
    await set(
      'post-login',
      `for (const name of ['sub', 'aud', 'iss', 'exp', 'scope', 'permissions', 'org_id', 'gid', '__proto__', 'https://x.auth0.com/a', 'mine']) {
      api.accessToken.setCustomClaim(name, 'false'); api.idToken.setCustomClaim(name, 'false'); }`,
    );
    const { access, id } = await signIn();
    for (const claims of [access, id])
      expect(Object.keys(claims).filter((name) => claims[name] === 'false')).toEqual(['mine']);
  });

  test('runs in its order, and sees what the earlier ones have set', async () => {
    await set(
      'post-login',
      `api.user.setAppMetadata('step', 1); api.transaction.setMetadata('a', 'b');`,
      `api.idToken.setCustomClaim('steps', [event.user.app_metadata.step, event.transaction.metadata.a]); api.user.setAppMetadata('step', null);`,
    );
    expect((await signIn()).id.steps).toEqual([1, 'b']);
    expect((await manage('GET', 'users/auth0%7Calice')).body.app_metadata).not.toHaveProperty('step');
  });

  test('sets no claim and no metadata to undefined, and removes what an earlier one has set', async () => {
    await set(
      'post-login',
      `for (const token of [api.accessToken, api.idToken]) token.setCustomClaim('plan', 'gold');
       for (const name of ['a', 'b', 'kept']) api.transaction.setMetadata(name, 1);
       api.user.setAppMetadata('plan', 'gold');`,
      `const { plan } = event.user.user_metadata;
       for (const token of [api.accessToken, api.idToken]) { token.setCustomClaim('plan', plan); token.setCustomClaim('other', plan); }
       api.transaction.setMetadata('a', plan);
       api.transaction.setMetadata('b', null);
       api.transaction.setMetadata('other', plan);
       api.user.setAppMetadata('plan', plan);`,
      `api.idToken.setCustomClaim('seen', [event.transaction.metadata, 'plan' in event.user.app_metadata]);`,
    );
    const { access, id } = await signIn();
    for (const claims of [access, id]) for (const name of ['plan', 'other']) expect(claims).not.toHaveProperty(name);
    expect(id.seen).toEqual([{ kept: 1 }, false]);
  });

  test('runs once in a sign-in, though a consent page comes between', async () => {
    await set(
      'post-login',
      `api.user.setAppMetadata('count', (event.user.app_metadata.count ?? 0) + 1); api.idToken.setCustomClaim('count', 1);`,
    );
    const browser = new Browser(gate);
    const request = {
      client_id: 'third',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid',
    };
    const consent = await browser.logIn(await browser.authorize(request));
    expect(consent.location).toBeUndefined();
    const { location } = await browser.submit(consent, { action: 'default' });
    const code = location!.searchParams.get('code')!;
    const form = {
      grant_type: 'authorization_code',
      client_id: 'third',
      client_secret: 'third-secret',
      redirect_uri: request.redirect_uri,
      code,
    };
    expect((await gate.ask(form)).id.count).toBe(1);
    expect((await manage('GET', 'users/auth0%7Calice')).body.app_metadata.count).toBe(1);
  });

  test('can reach allowed hosts with fetch, which sends the headers that Node adds to its own', async () => {
    const names = ['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent', 'x-own'];
    const server = createServer(({ method, headers }, response) =>
      response.setHeader('x-method', method!).end(JSON.stringify(names.map((name) => headers[name] ?? null))),
    );
    stack.defer(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/plan`;
    const requests: RequestInit[] = [
      { method: 'POST', body: 'x', headers: { 'x-own': 'y' } },
      { headers: { accept: 'application/json', 'User-Agent': 'an action' } },
    ];
    await set(
      'post-login',
      `const said = async (init) => {
         const answer = await fetch('${url}', init);
         return [answer.status, answer.headers.get('x-method'), await answer.json()];
       };
       api.idToken.setCustomClaim('fetched', await Promise.all(${JSON.stringify(requests)}.map(said)));`,
    );
    const said = async (init: RequestInit) => {
      const answer = await fetch(url, init);
      return [answer.status, answer.headers.get('x-method'), await answer.json()];
    };
    const byNode = await Promise.all(requests.map(said));
    expect(byNode).toMatchObject([
      [200, 'POST', ['*/*', 'gzip, deflate', '*', 'text/plain;charset=UTF-8', 'node', 'y']],
      [200, 'GET', ['application/json', 'gzip, deflate', '*', null, 'an action', null]],
    ]);
    expect((await signIn()).id.fetched).toEqual(byNode);
  });

  test('reads compressed answers of fetch as in Node', async () => {
    const text = '{"plan":"silver"}';
    const answers: Record<string, [coding: string, bytes: Buffer]> = {
      gzip: ['gzip', gzipSync(text)],
      capitals: ['GZIP', gzipSync(text)],
      old: ['x-gzip', gzipSync(text)],
      deflate: ['deflate', deflateSync(text)],
      bare: ['deflate', deflateRawSync(text)],
      br: ['br', brotliCompressSync(text)],
      zstd: ['zstd', zstdCompressSync(text)],
      twice: ['br, gzip', gzipSync(brotliCompressSync(text))],
      cut: ['gzip', gzipSync(text).subarray(0, -8)],
      unknown: ['rot13', Buffer.from(text)],
      nothing: ['gzip', Buffer.alloc(0)],
      wrong: ['gzip', Buffer.from(text)],
    };
    const server = createServer(({ url = '' }, response) => {
      const [coding, bytes] = answers[url.slice(1)]!;
      response.setHeader('content-encoding', coding).end(bytes);
    });
    stack.defer(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const read = async (path: string, method = 'GET') => {
      const answer = await fetch(`http://127.0.0.1:${port}/${path}`, { method });
      return [answer.headers.get('content-encoding'), await answer.text()];
    };
    const paths = Object.keys(answers).filter((path) => path !== 'wrong');
    await set(
      'post-login',
      `const read = async (path, method = 'GET') => {
         const answer = await fetch('http://127.0.0.1:${port}/' + path, { method });
         return [answer.headers.get('content-encoding'), await answer.text()];
       };
       const all = await Promise.all(${JSON.stringify(paths)}.map((path) => read(path)));
       api.idToken.setCustomClaim('read', [...all, await read('gzip', 'HEAD'), await read('wrong').catch(({ name }) => name)]);`,
    );
    const byNode = await Promise.all(paths.map((path) => read(path)));
    expect(byNode[0]).toEqual(['gzip', text]);
    expect((await signIn()).id.read).toEqual([...byNode, await read('gzip', 'HEAD'), 'TypeError']);
  });

  test('follows redirects of fetch as in Node: with the method and the body, and without credentials for another origin', async () => {
    const servers = [1, 2].map(() =>
      createServer(async (request, response) => {
        const { searchParams } = new URL(request.url!, 'http://any');
        const to = searchParams.get('to');
        if (to) return response.writeHead(Number(searchParams.get('status')), { location: to }).end();
        let body = '';
        for await (const part of request) body += part;
        const names = [
          'content-type',
          'content-language',
          'authorization',
          'proxy-authorization',
          'cookie',
          'x-api-key',
        ];
        const said = [request.method, body, ...names.map((name) => request.headers[name] ?? null)];
        return response.setHeader('x-said', JSON.stringify(said)).end();
      }),
    );
    const [own, other] = await Promise.all(
      servers.map(async (server) => {
        stack.defer(() => void server.close());
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      }),
    );
    const requests = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'].flatMap((method) =>
      [301, 302, 303, 307, 308].flatMap((status) =>
        ['/here', `${other}/there`].map((to) => {
          const url = `${own}/?${new URLSearchParams({ status: String(status), to })}`;
          const body = ['GET', 'HEAD'].includes(method) ? {} : { body: '{"a":1}' };
          const headers = {
            'content-type': 'application/json',
            'content-language': 'en',
            authorization: 'Bearer a',
            'proxy-authorization': 'Bearer b',
            cookie: 'c=d',
            'x-api-key': 'e',
          };
          return [url, { method, headers, ...body }] as const;
        }),
      ),
    );
    await set(
      'post-login',
      `const said = async ([url, init]) => (await fetch(url, init)).headers.get('x-said');
       api.idToken.setCustomClaim('said', await Promise.all(${JSON.stringify(requests)}.map(said)));`,
    );
    const said = async ([url, init]: (typeof requests)[number]) => (await fetch(url, init)).headers.get('x-said');
    const byNode = await Promise.all(requests.map(said));
    expect(byNode).toContain('["POST","{\\"a\\":1}","application/json","en",null,null,null,"e"]');
    expect((await signIn()).id.said).toEqual(byNode);
  });

  test('that is changed runs in its new form from the next sign-in on', async () => {
    await set('post-login', `api.idToken.setCustomClaim('which', 'old');`);
    expect((await signIn()).id.which).toBe('old');
    await set('post-login', `api.idToken.setCustomClaim('which', 'new');`);
    expect((await signIn()).id.which).toBe('new');
    await set('post-login');
    expect((await signIn()).id).not.toHaveProperty('which');
  });
});

test('a credentials-exchange action sets claims of a machine token, or refuses it with the error that it names', async () => {
  await set(
    'credentials-exchange',
    `if (event.client.client_id !== 'machine') return;
    if (event.transaction.requested_scopes.length > 1) api.access.deny('invalid_scope', 'one at a time');
    api.accessToken.setCustomClaim('${mine}for', event.resource_server.identifier);`,
  );
  expect((await machine({ scope: 'read:x' })).access).toMatchObject({ [`${mine}for`]: api, scope: 'read:x' });
  expect(await machine()).toMatchObject({
    status: 400,
    json: { error: 'invalid_scope', error_description: 'one at a time' },
  });
  await set('credentials-exchange');
  expect((await machine()).access).not.toHaveProperty([`${mine}for`]);
});

describe('actions around an account', () => {
  const signUp = (email: string, headers?: Record<string, string>) => {
    const form = { client_id: 'web', connection: 'Username-Password-Authentication', email, password };
    return gate.post('dbconnections/signup', form, headers);
  };

  test('pre-user-registration refuses with its own text, to applications and on the page, and sets metadata', async () => {
    await set(
      'pre-user-registration',
      `if (event.user.email.endsWith('@blocked.example')) return api.access.deny('domain', 'Use your <b>own</b> address.');
      api.user.setUserMetadata('from', event.client.client_id); api.user.setAppMetadata('approved', false);`,
    );
    expect(await signUp('eve@blocked.example')).toMatchObject({
      status: 400,
      json: { code: 'extensibility_error', description: 'Use your <b>own</b> address.' },
    });
    const { json } = await signUp('eve@example.com');
    expect((await manage('GET', `users/auth0%7C${json._id}`)).body).toMatchObject({
      user_metadata: { from: 'web' },
      app_metadata: { approved: false },
    });
    const browser = new Browser(gate);
    const request = {
      client_id: 'web',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid',
      screen_hint: 'signup',
    };
    const page = await browser.submit(await browser.authorize(request), { email: 'eve@blocked.example', password });
    expect(page.html).toContain('Use your &lt;b&gt;own&lt;/b&gt; address.');
    await set('pre-user-registration');
  });

  test('post-user-registration and post-change-password run afterwards and delay nobody, and are told of the person’s request', async () => {
    const seen: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      seen.push(JSON.parse(decodeURIComponent(request.url!.slice(1))));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const tell = `const { email } = event.user;
      await fetch('http://127.0.0.1:${port}/' + encodeURIComponent(JSON.stringify({ email, ...event.request })));`;
    const next = (what: string) => until(what, () => seen.shift());
    const headers = { 'user-agent': 'Lynx', 'accept-language': 'de-AT,de;q=0.9' };
    const hostname = new URL(gate.issuer).hostname;
    const asked = { user_agent: 'Lynx', language: 'de-AT', hostname, method: 'POST', ip: expect.stringMatching(/./) };
    await set('post-user-registration', tell);
    expect((await signUp('frank@example.com', headers)).status).toBe(200);
    expect(await next('the run after a sign-up')).toMatchObject({ email: 'frank@example.com', ...asked });
    await set('post-change-password', tell);
    const browser = new Browser(gate);
    const send = ({ forms, url }: Page, fields: Record<string, string>) =>
      browser.post(new URL(forms[0]!.action, url).href, { ...forms[0]!.fields, ...fields }, headers);
    const page = await browser.logIn(await browser.get('account/password'), 'frank@example.com');
    await send(page, { old_password: password, password: 'another long passphrase' });
    expect(await next('the run after a change at /account')).toMatchObject({ email: 'frank@example.com', ...asked });
    const form = { client_id: 'web', email: 'frank@example.com', connection: 'Username-Password-Authentication' };
    await gate.post('dbconnections/change_password', form);
    const mail = await until('the link', async () =>
      (await gate.mails('frank@example.com')).find(({ text }) => text?.includes('change-password?ticket=')),
    );
    await send(await browser.get(linkIn(mail)), { password: 'yet another passphrase' });
    expect(await next('the run after a change by a link')).toMatchObject({ email: 'frank@example.com', ...asked });
    await manage('PATCH', 'users/auth0%7Cbob', { password: 'another long passphrase' });
    // An administrator's address and browser are not the person's.
    expect(await next('the run after a change by the API')).toEqual({
      ...{ email: 'bob@example.com', ip: '', user_agent: '', language: '', method: '' },
      ...{ hostname, query: {}, body: {}, geoip: {} },
    });
    await set('post-user-registration');
    await set('post-change-password');
    server.close();
  });
});

describe('an action that fails', () => {
  test('keeps everybody out, shows the application no details, and is logged without its secrets', async () => {
    const body = `throw new Error('no answer with ' + event.secrets.KEY);`;
    await set('post-login', { body, secrets: { KEY: 'a secret value' } });
    const { error } = await signIn();
    expect(Object.fromEntries(error)).toMatchObject({
      error: 'access_denied',
      error_description: 'An action of this tenant failed.',
    });
    expect(await logged('type:actions_execution_failed', 'no answer with')).toMatchObject({
      client_id: 'web',
      user_id: 'auth0|alice',
      details: { reason: 'threw', description: 'Error: no answer with ***', trigger: 'post-login', on_fault: 'closed' },
    });
    expect((await byPassword()).status).toBe(403);
  });

  test.each([
    ['what is not here', `api.prompt.render('a form');`, 'not in Gatepost'],
    ['what is not installed', `require('axios');`, 'Cannot find module'],
  ])('is logged by naming %s', async (_what, body, said) => {
    await set('post-login', body);
    expect((await signIn()).error.get('error')).toBe('access_denied');
    await logged('type:actions_execution_failed', said);
    await set('post-login');
  });

  test('lets everybody past where the tenant has chosen so', async () => {
    await using open = await openActionsGate({ ACTIONS_ON_FAULT: 'open', ACTIONS_TIMEOUT_MS: '20000' });
    await open.set(
      'post-login',
      `api.idToken.setCustomClaim('a', 1); throw new Error('broken');`,
      `api.idToken.setCustomClaim('b', 2);`,
    );
    const { id } = await open.signIn();
    expect(id).toMatchObject({ b: 2 });
    expect(id).not.toHaveProperty('a');
    const failed = await until('the log', async () => (await open.logs('type:actions_execution_failed'))[0]);
    expect(failed).toMatchObject({ details: { on_fault: 'open' } });
  });
});

test('the gate does not start with a folder that is not a trigger’s, or with code that cannot be parsed or is too large', async () => {
  const wrong = stack.adopt(await mkdtemp(join(tmpdir(), 'actions-')), (path) => rm(path, { recursive: true }));
  await mkdir(join(wrong, 'post-sign-in'));
  await mkdir(join(wrong, 'post-login'));
  await writeFile(join(wrong, 'post-login', 'bad.js'), 'const x = ;');
  await writeFile(join(wrong, 'post-login', 'large.js'), `// ${'x'.repeat(2 * 1024 * 1024)}`);
  await expect(openActionsGate({ ACTIONS_DIR: wrong })).rejects.toThrow(
    /post-sign-in[\s\S]*bad\.js[\s\S]*large\.js: takes 2097\d{3} bytes.* at most \d+/,
  );
});

test('an action that does nothing adds at most one database statement to a refresh, a password grant and a sign-in', async () => {
  await using plain = await openActionsGate({ ACTIONS_TIMEOUT_MS: '20000' });
  const { json } = await plain.signIn();
  const client = { client_id: 'web', client_secret: 'web-secret', refresh_token: json.refresh_token! };
  const refresh = () => plain.ask({ grant_type: 'refresh_token', ...client });
  const ways = { refresh, password: () => plain.byPassword(), signIn: () => plain.signIn() };
  /** The least of some: the gate has work of its own now and then. */
  const costs = async () => {
    const all: Record<string, number> = {};
    for (const [name, ask] of Object.entries(ways)) {
      const counts: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const before = statements.length;
        expect((await ask()).status).toBe(200);
        counts.push(statements.length - before);
      }
      all[name] = Math.min(...counts);
    }
    return all;
  };
  const without = await costs();
  await plain.set('post-login', '');
  const bound = await costs();
  const more = Object.fromEntries(Object.keys(ways).map((name) => [name, bound[name]! - without[name]!]));
  expect(without.refresh).toBeGreaterThan(0);
  expect(more).toEqual({ refresh: 1, password: 1, signIn: 1 });
});
