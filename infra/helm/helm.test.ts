/**
 * The chart's rendered objects (rendered/), which render.sh writes where helm is installed. Neither Debian nor npm has Helm, and a test that runs only where somebody has
 * installed it is a skipped test; a renderer of our own would test itself. The first line of each file is a hash of the chart and its values, which a test compares. The
 * alerting rules (a link) and `appVersion` are not part of it: changing an alert or making a release requires no Helm.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { shardQueues, shardsMax } from '@gatepost/contracts/shards';
import { dispatcherStopMs, gateStopMs, stopMs } from '@gatepost/contracts/stopping';
import { deliveriesQueue, eventsQueue } from '@gatepost/contracts/topology';
import { metaOf } from '@gatepost/runtime/env';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import type { z } from 'zod';
import { selectorsIn } from '../docs/promql.ts';
import { rootFolder } from '../local/processes/home.ts';

const folder = join(rootFolder, 'infra/helm');
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');

type Peer = {
  ipBlock?: { cidr: string; except?: string[] };
  podSelector?: { matchLabels?: object };
  namespaceSelector?: object;
};
type Rule = { ports?: { port: number }[]; to?: Peer[]; from?: Peer[] };
type Container = {
  name: string;
  image: string;
  env: { name: string; value: string }[];
  ports?: { name: string; containerPort: number }[];
  securityContext: object;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  [probe: string]: unknown;
};
type PodSpec = {
  containers: Container[];
  securityContext: object;
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  topologySpreadConstraints?: { topologyKey: string }[];
  volumes: { name: string; secret?: { secretName: string; items?: { key: string; path: string }[] } }[];
};
type Made = {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: of ten kinds, each with its own form
  spec: any;
};

const sets = readdirSync(join(folder, 'values')).sort();
const rendered = new Map<string, Made[]>(
  sets.map((name) => [
    name,
    parseAllDocuments(read('rendered', name))
      .map((one) => one.toJS() as Made)
      .filter(Boolean),
  ]),
);
const of = (set: string, kind: string) => rendered.get(set)!.filter((one) => one.kind === kind);
const part = (made: Made) => made.metadata.labels['app.kubernetes.io/component']!;
const named = (list: Made[], name: string) => list.find((one) => part(one) === name)!;
const pods = (set: string): PodSpec[] =>
  [...of(set, 'Deployment'), ...of(set, 'Job')].map(({ spec }) => spec.template.spec);
const services = ['auth', 'dispatcher', 'webhook-api'];

test.each(sets)('rendered/%s is what the chart renders today: otherwise run infra/helm/render.sh', (name) => {
  const templates = readdirSync(join(folder, 'gatepost/templates')).sort();
  const sources = [
    'Chart.yaml',
    'values.yaml',
    'values.schema.json',
    ...templates.map((one) => join('templates', one)),
  ];
  const hash = createHash('sha256').update(read('values', name));
  for (const source of sources) hash.update(read('gatepost', source).replace(/^appVersion:.*\n/m, ''));
  expect(read('rendered', name).split('\n', 1)).toEqual([`# ${hash.digest('hex')}`]);
});

test('the alert rules of the chart are those of infra/observability', () => {
  const rules = join(folder, 'gatepost/files/alerts.yaml');
  expect(realpathSync(rules)).toBe(join(rootFolder, 'infra/observability/alerts.yaml'));
  const [made] = of('production.yaml', 'PrometheusRule');
  expect(made!.spec.groups[0].rules.length).toBeGreaterThan(10);
});

test('the alerts of a release look only at its own namespace, and name it', () => {
  const [made] = of('production.yaml', 'PrometheusRule');
  for (const { alert, expr, labels } of made!.spec.groups[0].rules) {
    const own = selectorsIn(expr).map(() => expect.stringMatching(/^\w+\{namespace="gatepost",job=/));
    expect([alert, selectorsIn(expr), labels.namespace]).toEqual([alert, own, 'gatepost']);
  }
});

describe.each(sets)('the chart rendered as %s', (set) => {
  test('has three services and their migrations, each once', () => {
    expect(of(set, 'Deployment').map(part).sort()).toEqual(services);
    const [job] = of(set, 'Job');
    expect(job!.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    expect(job!.spec.template.spec.containers.map(({ name }: Container) => name)).toEqual(['auth', 'webhooks']);
  });

  test('has only restricted containers: no root, no writable image, no capabilities, no token', () => {
    for (const pod of pods(set)) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('takes secrets from an existing Secret, as mounted files, and has none in variables', () => {
    expect(of(set, 'Secret')).toEqual([]);
    const secret = /^(SECRETS_KEY|.*(DATABASE|REDIS|AMQP|MAIL|SMS).*_URL)$/;
    for (const pod of pods(set)) {
      const items = pod.volumes.find(({ name }) => name === 'secrets')!.secret!.items!.map(({ path }) => path);
      for (const { env } of pod.containers)
        for (const { name, value } of env) {
          expect(name).not.toMatch(secret);
          if (name.endsWith('_FILE') && value.startsWith('/run/secrets/'))
            expect(items.map((item) => `/run/secrets/gatepost/${item}`)).toContain(value);
        }
    }
    const keys = of(set, 'Deployment').map((made) => [part(made), made.spec.template.spec] as const);
    for (const [name, { containers }] of keys) {
      const files = (containers as Container[])[0]!.env.map((one) => one.name);
      expect(files).toEqual(expect.arrayContaining(['SECRETS_KEY_FILE', 'REDIS_URL_FILE']));
      expect(files).toContain(name === 'auth' ? 'AUTH_DATABASE_URL_FILE' : 'WEBHOOK_DATABASE_URL_FILE');
    }
  });

  test('sets only variables that the service reads', () => {
    const page = readFileSync(join(rootFolder, 'docs/configuration.md'), 'utf8');
    const known = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!));
    for (const { containers } of pods(set))
      for (const { env } of containers)
        for (const { name } of env)
          expect([...known, 'GATEPOST_HOME', 'NODE_OPTIONS']).toContain(
            known.has(name) ? name : name.replace(/_FILE$/, ''),
          );
  });

  test('has the ports and probes of the images', () => {
    for (const made of of(set, 'Deployment')) {
      const [container] = (made.spec.template.spec as PodSpec).containers;
      const dockerfile = readFileSync(join(rootFolder, 'infra/images', `${part(made)}.Dockerfile`), 'utf8');
      const exposed = /^EXPOSE (.*)$/m.exec(dockerfile)![1]!.split(' ').map(Number);
      expect(container!.ports!.map(({ containerPort }) => containerPort).sort()).toEqual(exposed);
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/livez', port: 'ops' } },
        livenessProbe: { httpGet: { path: '/livez', port: 'ops' } },
        readinessProbe: { httpGet: { path: '/readyz?exclude=stores', port: 'ops' } },
      });
      const { periodSeconds, failureThreshold } = container!.startupProbe as Record<string, number>;
      expect(periodSeconds! * failureThreshold!).toBeGreaterThan(60); // START_TIMEOUT_MS
    }
  });

  test('gives each pod more time to stop than its service may take', () => {
    for (const made of of(set, 'Deployment')) {
      const pod = made.spec.template.spec as PodSpec;
      const [container] = pod.containers;
      const variable = (name: string) => Number(container!.env.find((one) => one.name === name)?.value ?? 0);
      const ofParts: Record<string, number> = {
        auth: gateStopMs,
        'webhook-api': stopMs,
        dispatcher: dispatcherStopMs(variable('DELIVERY_TIMEOUT_MS')),
      };
      const stop = ofParts[part(made)]!;
      const before = (container!.lifecycle?.preStop.sleep.seconds ?? 0) * 1000 + variable('STOP_DELAY_MS');
      expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(before + stop);
      // Long enough for the Service to notice that it is not ready.
      const { periodSeconds, failureThreshold } = container!.readinessProbe as Record<string, number>;
      if (part(made) !== 'dispatcher') expect(before).toBeGreaterThan(periodSeconds! * failureThreshold! * 1000);
    }
  });

  test('lets the dispatcher reach the stores, DNS and the outside, and no other address of the cluster', () => {
    const { spec } = named(of(set, 'NetworkPolicy'), 'dispatcher');
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    const rules = spec.egress as Rule[];
    const outside = rules.filter(({ to }) => to!.some(({ ipBlock }) => ipBlock?.cidr.endsWith('/0')));
    expect(outside).toHaveLength(1);
    const [v4, v6] = outside[0]!.to!.map(({ ipBlock }) => ipBlock!);
    expect([v4!.cidr, v6!.cidr]).toEqual(['0.0.0.0/0', '::/0']);
    const closed = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10', '127.0.0.0/8'];
    expect(v4!.except).toEqual(expect.arrayContaining(closed));
    expect(v6!.except).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10', '::1/128', '64:ff9b::/96']));
    // All others are stores or DNS, at their own ports.
    const others = rules.filter((rule) => !outside.includes(rule));
    expect(others.map(({ ports }) => ports!.map(({ port }) => port))).toEqual([[53, 53], [5432], [6379], [5671, 5672]]);
    for (const { to } of others) expect(to!.length).toBeGreaterThan(0);
    // Only the monitoring sends it requests.
    expect((spec.ingress as Rule[]).map(({ ports }) => ports!.map(({ port }) => port))).toEqual([[4601]]);
  });

  test('has a network policy for every pod, and no policy or Service without pods', () => {
    const selected = of(set, 'NetworkPolicy').map((made) => made.spec.podSelector.matchLabels);
    const labels = [...of(set, 'Deployment'), ...of(set, 'Job')].map((made) => made.spec.template.metadata.labels);
    for (const one of labels)
      expect(selected.some((wanted) => expect.objectContaining(wanted).asymmetricMatch(one))).toBe(true);
    const wanted = of(set, 'Service').map((made) => made.spec.selector);
    for (const one of wanted)
      expect(labels.some((has) => expect.objectContaining(one).asymmetricMatch(has))).toBe(true);
  });
});

test('by default a drain takes one pod of a service at a time, and pods are spread over nodes', () => {
  const budgets = of('defaults.yaml', 'PodDisruptionBudget');
  expect(budgets.map(part).sort()).toEqual(services);
  for (const { spec } of budgets) expect(spec).toMatchObject({ maxUnavailable: 1 });
  for (const { spec } of of('defaults.yaml', 'Deployment'))
    expect((spec.template.spec as PodSpec).topologySpreadConstraints!.map(({ topologyKey }) => topologyKey)).toEqual([
      'topology.kubernetes.io/zone',
      'kubernetes.io/hostname',
    ]);
});

test("with the stores' own CA, every service and both migrations have its file", () => {
  for (const { containers, volumes } of pods('small.yaml')) {
    expect(volumes).toContainEqual({ name: 'ca', configMap: { name: 'stores-ca' } });
    for (const { volumeMounts } of containers)
      expect(volumeMounts).toContainEqual({ name: 'ca', mountPath: '/run/ca', readOnly: true });
  }
});

test('numbers in variables are written as the services read them, however large', () => {
  const deployments = of('small.yaml', 'Deployment');
  const envOf = (name: string) => (named(deployments, name).spec.template.spec as PodSpec).containers[0]!.env;
  expect(envOf('webhook-api')).toContainEqual({ name: 'RATE_LIMIT_PER_HOUR', value: '1000000' });
  expect(envOf('dispatcher')).toContainEqual({ name: 'THROTTLE_BURST', value: '2500000' });
  expect(envOf('dispatcher')).toContainEqual({ name: 'THROTTLE_RATE', value: '0.5' });
});

test('both migrations have their URLs, also under one variable, and the plain variables', () => {
  const [job] = of('small.yaml', 'Job');
  const { containers, volumes } = job!.spec.template.spec as PodSpec;
  const withUrl = (key: string) => [
    { name: 'NODE_OPTIONS', value: '--max-old-space-size=192' },
    { name: 'DATABASE_URL_FILE', value: `/run/secrets/gatepost/${key}` },
  ];
  expect(containers.map(({ env }) => env)).toEqual([withUrl('auth-owner-url'), withUrl('webhook-owner-url')]);
  expect(volumes[0]!.secret!.items!.map(({ key }) => key)).toEqual(['auth-owner-url', 'webhook-owner-url']);
});

describe('in production', () => {
  const set = 'production.yaml';

  test('dispatchers scale with the length of all their queues and the age of events, and by nothing else', () => {
    const [scaled] = of(set, 'ScaledObject');
    const dispatcher = named(of(set, 'Deployment'), 'dispatcher');
    expect(scaled!.spec.scaleTargetRef.name).toBe(dispatcher.metadata.name);
    expect(dispatcher.spec).not.toHaveProperty('replicas');
    expect(
      scaled!.spec.triggers.map(({ type, metadata }: { type: string; metadata: Record<string, string> }) => [
        type,
        metadata.queueName ?? /dispatcher_event_age_seconds_bucket/.exec(metadata.query!)?.[0],
      ]),
    ).toEqual([
      ...[...shardQueues(deliveriesQueue, 3), ...shardQueues(eventsQueue, 2)].map((queue) => ['rabbitmq', queue]),
      ['prometheus', 'dispatcher_event_age_seconds_bucket'],
    ]);
    // The length of a queue is divided among the dispatchers, which is the default. An age is not; and without events it is NaN.
    expect(scaled!.spec.triggers.map(({ metricType }: { metricType?: string }) => metricType)).toEqual([
      ...Array(5).fill(undefined),
      'Value',
    ]);
    expect(scaled!.spec.triggers.at(-1).metadata.query).toMatch(/ > 0$/);
    const [authentication] = of(set, 'TriggerAuthentication');
    expect(authentication!.spec.secretTargetRef).toEqual([
      { parameter: 'host', name: 'gatepost-production', key: 'keda-amqp-url' },
    ]);
  });

  test('the gate and the webhook API scale with their load', () => {
    const scalers = of(set, 'HorizontalPodAutoscaler');
    expect(scalers.map(part).sort()).toEqual(['auth', 'webhook-api']);
    for (const scaler of scalers)
      expect(named(of(set, 'Deployment'), part(scaler)).spec).not.toHaveProperty('replicas');
  });

  test('the Prometheus jobs have the names that the alerts use', () => {
    const monitors = of(set, 'ServiceMonitor');
    expect(monitors.map(part).sort()).toEqual(services);
    for (const { spec } of monitors) expect(spec.jobLabel).toBe('app.kubernetes.io/component');
    const [rules] = of(set, 'PrometheusRule');
    expect(rules!.metadata.labels.release).toBe('prometheus');
  });

  test('migrations run as the owner of the schemas, whose URLs no service has', () => {
    const [job] = of(set, 'Job');
    const urls = (job!.spec.template.spec as PodSpec).volumes[0]!.secret!.items!.map(({ key }) => key);
    expect(urls).toEqual(['auth-owner-url', 'webhook-owner-url']);
    for (const { spec } of of(set, 'Deployment'))
      for (const { secret } of (spec.template.spec as PodSpec).volumes)
        expect(secret?.items?.map(({ key }) => key) ?? []).not.toContain('auth-owner-url');
  });
});

test('organizations are accounts at both services or at neither, and then the gate reaches RabbitMQ', () => {
  const envOf = (set: string, name: string) =>
    (named(of(set, 'Deployment'), name).spec.template.spec as PodSpec).containers[0]!.env;
  for (const name of ['auth', 'webhook-api']) {
    const own = (set: string) => envOf(set, name).filter((one) => one.name === 'ORGANIZATION_ACCOUNTS');
    expect([own('defaults.yaml'), own('production.yaml')]).toEqual([
      [],
      [{ name: 'ORGANIZATION_ACCOUNTS', value: 'on' }],
    ]);
  }
  expect(envOf('production.yaml', 'auth').map(({ name }) => name)).toContain('AMQP_URL_FILE');
});

test('there are as many shards as dispatchers read', () => {
  const { eventShards, deliveryShards } = parse(read('gatepost/values.schema.json')).properties.dispatcher.properties;
  expect([eventShards.maximum, deliveryShards.maximum]).toEqual([shardsMax, shardsMax]);
});

// A timeout of deliveries among the variables left the grace period as it was: pods were killed in the middle of attempts.
test('variables on which other objects of the chart depend are refused, as they are values of their own or fixed', async () => {
  const { properties } = parse(read('gatepost/values.schema.json'));
  const derived = ['STOP_DELAY_MS', 'DELIVERY_TIMEOUT_MS', 'EVENT_SHARDS', 'DELIVERY_SHARDS'];
  const parts = { auth: 'auth', webhookApi: 'webhook-api', dispatcher: 'dispatcher' };
  for (const [part, service] of Object.entries(parts)) {
    const [{ not }] = properties[part].properties.env.propertyNames.allOf;
    const { variables } = (await import(join(rootFolder, 'services', service, 'src/config.ts'))) as {
      variables: z.ZodObject;
    };
    const names = Object.keys(variables.shape);
    const refused = names.filter((name) => new RegExp(not.pattern).test(name));
    // The chart does not serve TLS itself.
    const wanted = names.filter((name) => derived.includes(name) || /(?<!TLS)_PORT$/.test(name));
    expect({ part, refused }).toEqual({ part, refused: wanted });
    expect(refused.length).toBeGreaterThan(1);
  }
});

test('values that hold a secret are refused', async () => {
  const { properties } = parse(read('gatepost/values.schema.json'));
  const isSecret = (part: string, name: string) =>
    new RegExp(properties[part].properties.env.propertyNames.not.pattern).test(name);
  // Not secrets: an address that is read without a password, and our own.
  const open = ['JWKS_URL', 'WEBHOOK_API_URL'];
  for (const [part, service] of [
    ['auth', 'auth'],
    ['webhookApi', 'webhook-api'],
    ['dispatcher', 'dispatcher'],
  ] as const) {
    const { variables } = (await import(join(rootFolder, 'services', service, 'src/config.ts'))) as {
      variables: z.ZodObject;
    };
    const secrets = Object.entries(variables.shape)
      .filter(([name, field]) => metaOf(field).secret || (/_URL$/.test(name) && !open.includes(name)))
      .map(([name]) => name);
    expect(secrets).toEqual(expect.arrayContaining(['SECRETS_KEY', 'OPS_TOKEN', 'OTEL_EXPORTER_OTLP_HEADERS']));
    expect(secrets.filter((name) => !isSecret(part, name))).toEqual([]);
    expect(Object.keys(variables.shape).filter((name) => isSecret(part, name))).toEqual(secrets);
  }
  const { migrations, dispatcher } = properties;
  expect(migrations.properties.env.propertyNames).toEqual(dispatcher.properties.env.propertyNames);
});
