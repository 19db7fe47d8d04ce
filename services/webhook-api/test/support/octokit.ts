/** The whole system as clients of GitHub find it, with tokens of the real gate. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver, type Received, type Receiver } from '@gatepost/testkit/receiver';
import { openSystem, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { Octokit } from '@octokit/rest';
import { checkedFetch } from './conformance.ts';

type Rest = Octokit['rest'];
type Repos = Rest['repos'];
type Delivery = Awaited<ReturnType<Repos['listWebhookDeliveries']>>['data'][number];

export type GitHub = AsyncDisposable & {
  system: System;
  baseUrl: string;
  clients: Map<string, Octokit>;
  as(name: string): Rest;
  octokit(auth: string): Octokit;
  tokenOf(parameters: Record<string, string>): Promise<string>;
  adminToken(): Promise<string>;
  /** The receiver of the test that runs. */
  readonly receiver: Receiver;
  /** A receiver and a repository without hooks for each test. */
  begin(): Promise<void>;
  create(
    path: string,
    more?: Record<string, unknown>,
    config?: Record<string, unknown>,
  ): ReturnType<Repos['createWebhook']>;
  received(what: string, event: string): Promise<Received>;
  publishPush(body?: object): Promise<string>;
  delivered(hookId: number, event: string): Promise<Delivery>;
  /** Listens on the address that deliveries may go to; closed with the rest. */
  listen(handler: RequestListener): Promise<string>;
};

export const place = { owner: 'o', repo: 'r' };
export const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A system with repository `o/r`; clients are named by what they may do: t-admin, t-write, t-read, t-none, t-org. */
export async function openGitHub(): Promise<GitHub> {
  await using opening = new AsyncDisposableStack();
  const system = opening.use(
    await openSystem({
      seedFile: fileURLToPath(new URL('octokit-seed.yaml', import.meta.url)),
      // A client would try again; a test must not take a busy machine for an unavailable store.
      env: { RETRY_SCHEDULE_SECONDS: '', STORE_TIMEOUT_MS: '30000' },
    }),
  );
  const baseUrl = `${system.apiUrl}/api/v3`;
  const producer = opening.use(await openProducer(system.amqpUrl));
  let receiver: Receiver | undefined;

  const octokit = (auth: string) => new Octokit({ auth, baseUrl, log: silent, request: { fetch: checkedFetch } });
  const tokenOf = async (parameters: Record<string, string>): Promise<string> => {
    const response = await fetch(`${system.issuer}oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ audience: system.audience, ...parameters }),
    });
    const answer = (await response.json()) as { access_token?: string };
    if (!answer.access_token) throw new Error(`the gate answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer.access_token;
  };
  const machineToken = (name: string) =>
    tokenOf({ grant_type: 'client_credentials', client_id: name, client_secret: `${name}-secret` });
  const clients = new Map<string, Octokit>();
  for (const name of ['t-admin', 't-write', 't-read', 't-none', 't-org'])
    clients.set(name, octokit(await machineToken(name)));
  const as = (name: string) => clients.get(name)!.rest;
  const open = opening.move();

  return {
    system,
    baseUrl,
    clients,
    as,
    octokit,
    tokenOf,
    adminToken: () => machineToken('t-admin'),
    get receiver() {
      return receiver!;
    },
    async begin() {
      receiver = open.use(await openReceiver());
      const { data } = await as('t-admin').repos.listWebhooks({ ...place, per_page: 100 });
      for (const { id } of data) await as('t-admin').repos.deleteWebhook({ ...place, hook_id: id });
    },
    create: (path, more = {}, config = {}) =>
      as('t-admin').repos.createWebhook({
        ...place,
        ...more,
        config: { url: `${receiver!.url}/${path}`, content_type: 'json', secret: 's', ...config },
      }),
    received: (what, event) =>
      until(`a ${event}`, () =>
        receiver!.received.find(({ path, headers }) => path === `/${what}` && headers['x-github-event'] === event),
      ),
    publishPush: (body = { ref: 'refs/heads/main' }) =>
      producer.publish({ type: 'push', subject: 'o/r', body: Buffer.from(JSON.stringify(body)) }),
    delivered: (hook_id, event) =>
      until('the delivery in the log', async () => {
        const { data } = await as('t-admin').repos.listWebhookDeliveries({ ...place, hook_id });
        return data.find((delivery) => delivery.event === event);
      }),
    async listen(handler) {
      const server = createServer(handler);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
      open.defer(() => {
        server.closeAllConnections();
        server.close();
      });
      return `http://127.0.0.2:${(server.address() as AddressInfo).port}`;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** What a client hears that is refused. */
export async function problem(promise: Promise<unknown>) {
  try {
    await promise;
  } catch (error) {
    const { status, message, response } = error as {
      status: number;
      message: string;
      // biome-ignore lint/suspicious/noExplicitAny: an answer's JSON, of which each test expects what it names
      response: { data: any; headers: Record<string, string> };
    };
    return { status, message, data: response.data, headers: response.headers };
  }
  throw new Error('it did not fail');
}
