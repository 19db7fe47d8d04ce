/** Targets that we start ourselves: Gatepost, and as a floor for all, oidc-provider alone and a consumer that forwards. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openBenchGate } from '../bench-gate.ts';
import { openBenchSystem } from '../bench-system.ts';
import { api, app, keeper, machine, people, server } from '../gate-seed.ts';
import { publishedProvider } from '../published.ts';
import { startBare } from '../start-bare.ts';
import type { Parts } from './cost.ts';
import type { CodeFlow, Target } from './target.ts';

export type OwnTarget = AsyncDisposable & { target: Target };

export const ownNames = ['ours', 'bare'];

/** @param receiver the URL that it delivers to */
export const openOwnTarget = (name: string, receiver: string): Promise<OwnTarget> =>
  name === 'ours' ? openOurs() : openBare(receiver);

const root = fileURLToPath(new URL('../..', import.meta.url));
const callback = app.callbacks[0]!;
const queue = 'bench.bare';
const stores = { PostgreSQL: 'postgres', Redis: 'redis-server' };

async function openOurs(): Promise<OwnTarget> {
  await using stack = new AsyncDisposableStack();
  const system = stack.use(await openBenchSystem([{ login: 'acme', throttle: { rate: 1e6, burst: 1e6 } }]));
  const gate = stack.use(await openBenchGate({ checkout: root })); // this gives it a database of its own
  const token = await system.token();
  const person = people[0]!;
  const open = stack.move();
  const target: Target = {
    name: 'Gatepost',
    setup: [
      {
        url: `${system.apiUrl}/repos/acme/widgets/hooks`,
        headers: { authorization: `Bearer ${token}` },
        json: {
          name: 'web',
          config: { url: '{{receiver}}', content_type: 'json', secret: 'bench-secret' },
          events: ['push'],
        },
      },
    ],
    post: {
      parts: { dispatcher: [system.dispatcher.pid], ...stores, RabbitMQ: 'beam.smp' },
      amqp: {
        url: system.amqpUrl,
        exchange: 'gatepost.events',
        routingKey: 'push',
        properties: {
          contentType: 'application/json',
          headers: {
            'cloudEvents:specversion': '1.0',
            'cloudEvents:id': '{{id}}',
            'cloudEvents:source': 'urn:gatepost:bench',
            'cloudEvents:type': 'push',
            'cloudEvents:subject': 'acme/widgets',
            'cloudEvents:time': '{{now}}',
          },
        },
        json: '{{payload}}',
      },
    },
    gate: gateOf({ gate: [gate.service.pid], ...stores }, gate.issuer, 'authorize', 'userinfo', 'oauth/introspect', {
      identifier: person.email,
      password: person.password,
      action: 'default',
    }),
  };
  return { target, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

async function openBare(receiver: string): Promise<OwnTarget> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startBare(publishedProvider()));
  const amqpUrl = process.env.AMQP_URL!;
  const file = fileURLToPath(new URL('./forwarder.ts', import.meta.url));
  const forwarder = stack.adopt(fork(file, [amqpUrl, queue, receiver]), (child) => child.disconnect());
  await once(forwarder, 'message');
  const target: Target = {
    name: 'bare',
    post: {
      parts: { forwarder: [forwarder.pid!], RabbitMQ: 'beam.smp' },
      amqp: { url: amqpUrl, exchange: '', routingKey: queue, json: '{{payload}}' },
    },
    gate: gateOf(
      { 'oidc-provider': [provider.pid] },
      `http://localhost:${provider.port}/`,
      'auth',
      'me',
      'token/introspection',
      {
        login: 'bench',
        password: 'bench',
      },
    ),
  };
  const open = stack.move();
  return {
    target,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function gateOf(
  parts: Parts,
  issuer: string,
  authorize: string,
  userinfo: string,
  introspection: string,
  fill: Record<string, string>,
): NonNullable<Target['gate']> {
  const client = { client_id: keeper.client_id, redirect_uri: callback };
  const request = {
    ...client,
    audience: api,
    response_type: 'code',
    scope: 'openid profile email offline_access',
    code_challenge_method: 'S256',
    state: 'bench',
  };
  const code: CodeFlow = {
    authorize: `${issuer}${authorize}?${new URLSearchParams(request)}&code_challenge={{challenge}}`,
    fill,
    exchange: {
      url: `${issuer}oauth/token`,
      form: { ...client, grant_type: 'authorization_code', code: '{{code}}', code_verifier: '{{verifier}}' },
    },
    refresh: {
      url: `${issuer}oauth/token`,
      form: { client_id: keeper.client_id, grant_type: 'refresh_token', refresh_token: '{{refresh_token}}' },
    },
  };
  return {
    parts,
    clientCredentials: {
      url: `${issuer}oauth/token`,
      form: {
        grant_type: 'client_credentials',
        client_id: machine.client_id,
        client_secret: machine.client_secret,
        resource: api,
        scope: 'read:x',
      },
    },
    code,
    userinfo: { url: `${issuer}${userinfo}`, headers: { authorization: 'Bearer {{access_token}}' } },
    introspection: {
      url: `${issuer}${introspection}`,
      form: { client_id: server.client_id, client_secret: server.client_secret, token: '{{access_token}}' },
    },
  };
}
