/** What clients see while a store or the gate is away: 503 in GitHub's form while it is away, and recovery without our doing. */
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { setReadOnly } from '@gatepost/testkit/postgres-server';
import { openRedisCluster, openRedisWithSentinels, type ReplicatedRedis } from '@gatepost/testkit/redis-replicated';
import { openRedisServer, type RedisServer } from '@gatepost/testkit/redis-server';
import { redisUrl } from '@gatepost/testkit/stores';
import { openIssuer } from '@gatepost/testkit/tokens';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Api, audience, call, openApi } from './support/api.ts';
import { openJobs, recordDelivery } from './support/jobs.ts';

const hooks = '/repos/acme/widgets/hooks';
const stack = new AsyncDisposableStack();
let api: Api;
let alice: string;
let root: string;
let database: Cuttable;
let broker: Cuttable;
let redis: Cuttable;

beforeAll(async () => {
  redis = stack.use(await openCuttable(redisUrl()));
  api = stack.use(
    await openApi({ REDIS_URL: redis.url, STORE_TIMEOUT_MS: '4000' }, async (env) => {
      database = stack.use(await openCuttable(env.DATABASE_URL!));
      broker = stack.use(await openCuttable(env.AMQP_URL!));
      return { DATABASE_URL: database.url, AMQP_URL: broker.url };
    }),
  );
  alice = await api.tokens.user('auth0|alice', 'repo admin:org');
  root = await api.tokens.machine('root', 'site_admin');
});
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  await api.sql.query('DELETE FROM hooks');
});

const create = () => call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/' } });
const readiness = async () => {
  const response = await fetch(`${api.opsBase}/readyz`);
  return { status: response.status, body: (await response.json()) as { failing?: Record<string, string> } };
};

/** What an operator sees: all but what only RabbitMQ knows. */
const seeWithoutBroker = async () => {
  const { status, body } = await call(api, root, 'GET', '/admin/status');
  expect(status).toBe(200);
  expect(body.queues.map(({ messages }: { messages: unknown }) => messages)).toEqual([null, null, null]);
  expect(await call(api, root, 'GET', '/admin/dead-letters')).toMatchObject(unavailable);
};

const unavailable = { status: 503, body: { message: 'Service Unavailable', status: '503' } };

describe('while PostgreSQL is away', () => {
  test('every route answers 503, and works again by itself afterwards', async () => {
    await create();
    await database.cut();
    for (const act of [
      () => call(api, alice, 'GET', hooks),
      create,
      () => call(api, alice, 'GET', '/orgs/acme/repos'),
      () => call(api, alice, 'PUT', '/orgs/acme/oauth-app-policy', { enabled: false }),
    ]) {
      const called = await act();
      expect(called).toMatchObject(unavailable);
      expect(called.headers.get('retry-after')).toBe('1');
    }
    expect(await readiness()).toMatchObject({ status: 503, body: { failing: { postgresql: expect.any(String) } } });
    expect((await fetch(`${api.opsBase}/readyz?exclude=stores`)).status).toBe(200);
    expect(await call(api, undefined, 'GET', '/meta')).toMatchObject({ status: 200 });
    await database.restore();
    await until('recovery', async () => (await call(api, alice, 'GET', hooks)).status === 200);
    expect((await call(api, alice, 'GET', hooks)).body).toHaveLength(1);
    await until(
      'recovery of the accounts',
      async () => (await call(api, alice, 'GET', '/orgs/acme/repos')).status === 200,
    );
    expect((await readiness()).status).toBe(200);
  });

  test('or does not answer, requests do not wait for it', async () => {
    database.hold(true);
    const calls = await Promise.all([
      create(),
      call(api, alice, 'GET', hooks),
      call(api, alice, 'GET', '/orgs/acme/repos'),
    ]);
    for (const called of calls) {
      expect(called).toMatchObject(unavailable);
    }
    database.hold(false);
    await until('recovery', async () => (await call(api, alice, 'GET', hooks)).status === 200);
    // A client told of a failure finds no hook when it tries again.
    expect(await create()).toMatchObject({ status: 201 });
  });
});

describe('a change that is answered 503', () => {
  const lock = "SELECT FROM repositories WHERE name = 'widgets' FOR UPDATE";
  /** One of our statements, or so many, have waited for a lock for so long. */
  const waits = (seconds: number, count = 1) =>
    until('it waits', async () => {
      const { rowCount } = await api.sql.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
           AND clock_timestamp() - query_start > make_interval(secs => $1)`,
        [seconds],
      );
      return rowCount === count;
    });
  const begin = async (what: string) => {
    const client = new pg.Client({ connectionString: api.env.DATABASE_URL, options: '-c search_path=webhooks' });
    await client.connect();
    await client.query('BEGIN');
    await client.query(what);
    return client;
  };
  /** Changes happen one at a time: this one after those that are still under way. */
  const isUnchanged = async () => {
    expect(await create()).toMatchObject({ status: 201 });
    expect((await call(api, alice, 'GET', hooks)).body).toHaveLength(1);
  };

  test('changes nothing, also if it waited first for its turn and then for the row', async () => {
    const other = await begin(lock);
    try {
      const first = create();
      await waits(0.3);
      const second = create();
      expect(await Promise.all([first, second])).toMatchObject([unavailable, unavailable]);
    } finally {
      await other.end();
    }
    await isUnchanged();
  });

  test('changes nothing, also if it was under way', async () => {
    const other = await begin(lock);
    const busy = create();
    await waits(2);
    const another = await begin('LOCK TABLE hooks IN SHARE MODE');
    try {
      await other.end();
      expect(await busy).toMatchObject(unavailable);
    } finally {
      await another.end();
    }
    await isUnchanged();
  });

  // Each was carried out, and its client asked again.
  test('delivers, replays and creates nothing, also if it was under way', async () => {
    const { id: hookId } = (await create()).body;
    const hook = `${hooks}/${hookId}`;
    const delivery = await recordDelivery(api.sql, { hookId });
    await using jobs = await openJobs(api);
    const pings = () => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'ping');
    await jobs.next(() => pings().length === 1);
    await api.sql.query('DELETE FROM parked');

    const first = await begin('LOCK TABLE events, replays IN ACCESS EXCLUSIVE MODE; LOCK TABLE accounts IN SHARE MODE');
    const asked = Promise.all([
      call(api, alice, 'POST', `${hook}/pings`),
      call(api, alice, 'POST', `${hook}/tests`),
      call(api, alice, 'POST', `${hook}/deliveries/${delivery}/attempts`),
      call(api, alice, 'POST', `${hook}/deliveries/replays`, { since: new Date(Date.now() - 60_000), status: 'all' }),
      call(api, root, 'POST', '/admin/organizations', { login: 'late' }),
    ]);
    await waits(2, 5);
    const second = await begin('LOCK TABLE parked, replay_outcomes, memberships IN SHARE MODE');
    try {
      await first.end();
      for (const answer of await asked) expect(answer).toMatchObject(unavailable);
    } finally {
      await second.end();
    }
    await until('nothing is under way', async () => {
      const { rowCount } = await api.sql.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
          UNION ALL SELECT FROM parked`,
      );
      return rowCount === 0;
    });
    expect((await call(api, alice, 'GET', `${hook}/deliveries/replays`)).body).toEqual([]);
    expect(await call(api, root, 'GET', '/orgs/late')).toMatchObject({ status: 404 });
    // What was published comes before this.
    expect(await call(api, alice, 'POST', `${hook}/pings`)).toMatchObject({ status: 204 });
    await jobs.next(() => pings().length === 2);
    expect(jobs.all.filter(({ job }) => job.hookId === hookId)).toEqual(pings());
    expect(pings()).toHaveLength(2);
  });
});

test('a body that arrives more slowly than a store may answer is read', async () => {
  const { hostname, port } = new URL(api.base);
  const headers = { authorization: `Bearer ${alice}`, 'user-agent': 'test' };
  const sent = request({ hostname, port, path: hooks, method: 'POST', headers });
  const answered = once(sent, 'response');
  sent.write('{"config":');
  await Promise.race([answered, sleep(6_000)]);
  sent.end('{"url":"https://example.com/slow"}}');
  const [response] = await answered;
  expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([
    201,
    { config: { url: 'https://example.com/slow' } },
  ]);
});

describe('while RabbitMQ is away', () => {
  test('no hook is half created, reading goes on, and creating works again by itself', async () => {
    const { body: hook } = await create();
    await broker.cut();
    const refused = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/new' } });
    expect(refused).toMatchObject(unavailable);
    expect(await call(api, alice, 'POST', `${hooks}/${hook.id}/pings`)).toMatchObject(unavailable);
    expect((await call(api, alice, 'GET', hooks)).body).toHaveLength(1);
    await seeWithoutBroker();
    expect(await readiness()).toMatchObject({ status: 503, body: { failing: { rabbitmq: expect.any(String) } } });
    await broker.restore();
    await until('recovery', async () => (await readiness()).status === 200);
    const { status, body } = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/new' } });
    expect(status).toBe(201);
    await using jobs = await openJobs(api);
    await jobs.next(({ job }) => job.event === 'ping' && job.hookId === body.id);
  });

  test('or does not answer, the creation of a hook is undone', async () => {
    broker.hold(true);
    const refused = await create();
    expect(refused).toMatchObject(unavailable);
    expect((await call(api, alice, 'GET', hooks)).body).toEqual([]);
    await seeWithoutBroker();
    broker.hold(false);
    await until('recovery', async () => (await create()).status === 201);
  });
});

describe('while PostgreSQL is read-only', () => {
  test('changes are 503, reading goes on, and the API is not ready until changes work again', async () => {
    await setReadOnly(database.url, true);
    await database.cut();
    await database.restore();
    await until(
      'it is not ready',
      async () => (await readiness()).body.failing?.postgresql === 'PostgreSQL is read-only',
    );
    expect(await create()).toMatchObject(unavailable);
    expect(await call(api, alice, 'GET', hooks)).toMatchObject({ status: 200 });
    await setReadOnly(database.url, false);
    await until('readiness', async () => (await readiness()).status === 200);
    await until('recovery', async () => (await create()).status === 201);
  });
});

describe('while Redis is away', () => {
  test('requests are answered, and counted by each process for itself', async () => {
    await redis.cut();
    const called = await call(api, alice, 'GET', hooks);
    expect(called).toMatchObject({ status: 200 });
    expect(called.headers.get('x-ratelimit-limit')).toBe('5000');
    expect((await readiness()).status).toBe(200);
    await redis.restore();
  });

  test('after the Redis in use became a replica, requests are counted at the new primary', async () => {
    await using first = await openRedisServer();
    await using second = await openRedisServer();
    await using relay = await openCuttable(first.url);
    await using own = await openApi({ REDIS_URL: relay.url });
    const token = await own.tokens.user('auth0|alice', 'repo');
    const counted = (server: RedisServer) => server.call('KEYS', `${own.env.REDIS_KEY_PREFIX}*`) as Promise<string[]>;
    await until('a count', async () => {
      expect((await call(own, token, 'GET', hooks)).status).toBe(200);
      return (await counted(first)).length > 0;
    });
    await first.call('REPLICAOF', '127.0.0.1', '1');
    expect(await call(own, token, 'GET', hooks)).toMatchObject({ status: 200 });
    relay.lead(second.url);
    await until('a count at the new primary', async () => {
      expect((await call(own, token, 'GET', hooks)).status).toBe(200);
      return (await counted(second)).length > 0;
    });
  });
});

describe('a Redis that fails over', () => {
  test('with Sentinels, requests are counted for all processes together, also at the new primary', () =>
    counts(openRedisWithSentinels));
  test('in a Cluster, requests are counted for all processes together, also at the new primary', () =>
    counts(openRedisCluster));

  async function counts(openRedis: () => Promise<ReplicatedRedis>): Promise<void> {
    await using store = await openRedis();
    await using one = await openApi({ REDIS_URL: store.url });
    const token = await one.tokens.user('auth0|alice', 'repo');
    const used = async () => Number((await call(one, token, 'GET', hooks)).headers.get('x-ratelimit-used'));
    // A count that Redis does not answer in time is made by the process itself.
    await until('two counts, one after the other', async () => (await used()) + 1 === (await used()));
    await store.failOver();
    const counted = async () =>
      (await Promise.all(store.servers().map((server) => server.call('KEYS', `${one.env.REDIS_KEY_PREFIX}*`)))).flat();
    await until('a count at the new primary', async () => {
      await used();
      return (await counted()).length > 0;
    });
  }
});

describe('while the gate is away', () => {
  test('a webhook API that starts waits for its keys, not ready, and then serves', async () => {
    await using issuer = await openIssuer();
    await issuer.serve(false);
    await using own = await openApi({ ISSUER: issuer.issuer });
    const token = await issuer.sign({
      aud: audience,
      sub: 'auth0|alice',
      client_id: 'c',
      scope: 'repo',
      first_party: true,
    });
    const refused = await call(own, token, 'GET', hooks);
    expect(refused).toMatchObject(unavailable);
    expect((await fetch(`${own.opsBase}/readyz`)).status).toBe(503);
    expect((await fetch(`${own.opsBase}/readyz?exclude=stores`)).status).toBe(503);
    await issuer.serve(true);
    await until('readiness', async () => (await fetch(`${own.opsBase}/readyz`)).status === 200);
    expect(await call(own, token, 'GET', hooks)).toMatchObject({ status: 200 });
  });
});
