/** The promises of docker-compose.yml and the Dockerfiles that can be checked by reading; stand-ins/prove.sh checks the rest with an engine. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { rootFolder } from '../local/processes/home.ts';

const read = (...path: string[]) => readFileSync(join(rootFolder, ...path), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true });
const services: Record<string, Service> = compose.services;
type Service = {
  image?: string;
  build?: { dockerfile: string; args: Record<string, string> };
  user?: string;
  command?: string[];
  entrypoint?: string[];
  ports?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  depends_on?: object;
  environment?: Record<string, string>;
  healthcheck?: { test: string[]; timeout: string; start_period: string };
  networks: { gatepost: { ipv4_address: string } };
};
const stores = ['postgres', 'redis', 'rabbitmq'];
const ours = ['auth', 'webhook-api', 'dispatcher'];
const dockerfiles = [...ours, 'smoke'].map((name) => [name, read(`infra/images/${name}.Dockerfile`)] as const);
const pinned = /:[\w.-]*\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$|:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}$/;
/** `${NAME:-value}` without the variable. */
const unset = (text = '') => text.replace(/^\$\{\w+:-(.*)\}$/, '$1');

test('every third-party image is pinned to the same version and digest everywhere', () => {
  const args = Object.entries(compose['x-build'].args as Record<string, string>);
  const foreign = Object.values(services).flatMap(({ image }) => (image?.startsWith('gatepost/') ? [] : [image]));
  for (const image of [...foreign.filter(Boolean), ...args.map(([, value]) => value)])
    expect(unset(image)).toMatch(pinned);
  for (const [, dockerfile] of dockerfiles) {
    for (const [name, value] of args) expect(dockerfile).toContain(`ARG ${name}=${unset(value)}\n`);
    expect([...dockerfile.matchAll(/^FROM \$\{(\w+)\}/gm)].map(([, name]) => name)).toEqual([
      'NODE_IMAGE',
      'BASE_IMAGE',
    ]);
  }
});

test('an image runs as a numeric user other than root, without npm and development dependencies', () => {
  for (const [, dockerfile] of dockerfiles) {
    const [, final] = dockerfile.split(/^FROM .*BASE_IMAGE.*$/m);
    expect(final).toMatch(/^USER 1000:1000$/m);
    expect(final).not.toMatch(/^RUN|npm|npx/m);
    expect(dockerfile).toMatch(/deploy --legacy --prod .*\/app/);
    expect(dockerfile).toContain('trim.sh /app');
  }
});

test.each(ours)('%s has the same flags in its image as under npm, and the compose file repeats none', (name) => {
  const { scripts } = JSON.parse(read('services', name, 'package.json')) as { scripts: { start: string } };
  const flags = (text: string) => text.match(/--(max-|no-)[\w=-]+/g);
  const [command] = dockerfiles.find(([service]) => service === name)![1].match(/^CMD.*/m)!;
  expect(flags(command!)).toEqual(flags(scripts.start));
  expect(services[name]).not.toHaveProperty('command');
  expect(services[name]).not.toHaveProperty('entrypoint');
});

test('without a mail server the image of the gate writes mail where it may write: below /tmp', () => {
  expect(read('infra/images/auth.Dockerfile')).toMatch(/^ENV .*\bGATEPOST_HOME=\/tmp$/m);
});

test('containers of ours have a read-only root file system and no capabilities', () => {
  for (const [name, service] of Object.entries(services).filter(([one]) => !stores.includes(one)))
    expect({ name, service }).toMatchObject({ name, service: { read_only: true, cap_drop: ['ALL'] } });
});

test('any service may have several containers: only the front one has ports of this machine', () => {
  const withPorts = Object.keys(services).filter((name) => services[name]!.ports);
  expect(withPorts.sort()).toEqual(['edge', 'rabbitmq']);
  const edge = read('infra/images/edge.conf');
  for (const [name, port] of Object.entries({ auth: 4400, 'webhook-api': 4500 })) {
    expect(edge).toContain(`listen ${port};`);
    expect(edge).toContain(`http://${name}:${port};`);
    expect(services.edge!.ports).toContain(`127.0.0.1:${port}:${port}`);
  }
});

test('the smoke test changes no number of containers, and has an address of its own', () => {
  expect(services.smoke).not.toHaveProperty('depends_on');
  const [{ subnet, ip_range: range }] = compose.networks.gatepost.ipam.config;
  expect([subnet, range]).toEqual(['172.30.44.0/24', '172.30.44.128/25']);
  expect(services.smoke!.networks.gatepost.ipv4_address).toBe('172.30.44.10');
});

test('RabbitMQ’s health check runs as the server’s user, and all health checks have enough time on a busy machine', () => {
  expect(services.rabbitmq!.user).toBe('rabbitmq');
  const seconds = (text: string) => Number(text.replace(/s$/, ''));
  const { timeout, start_period: start } = services.rabbitmq!.healthcheck!;
  expect(seconds(timeout)).toBeGreaterThanOrEqual(20);
  expect(seconds(start)).toBeGreaterThanOrEqual(60);
  for (const [name, dockerfile] of dockerfiles.filter(([one]) => ours.includes(one))) {
    const [, period, wait] = /--timeout=(\d+)s --start-period=(\d+)s/.exec(dockerfile) ?? [];
    expect({ name, enough: Number(period) >= 10 && Number(wait) > 60 }).toEqual({ name, enough: true });
  }
});

// On a fresh volume it took the server that only makes the cluster for the one that serves, and the migrations, which then began, found none.
test('PostgreSQL’s health check asks by TCP, where the server that makes the cluster does not answer', () => {
  const [kind, program, ...args] = services.postgres!.healthcheck!.test;
  expect([kind, program]).toEqual(['CMD', 'pg_isready']);
  expect(args).toContain('--host=127.0.0.1');
  // The stand-in's does as the image's: it has the usual socket.
  const standIn = read('infra/images/stand-ins/postgres.entry.sh');
  expect(standIn).toMatch(/^ {2}pg_ctl start .*listen_addresses=' /m);
});

test('the images of the webhook API and the dispatcher have no Prisma, which none of their modules imports', () => {
  for (const folder of ['packages/webhook-db', 'services/webhook-api', 'services/dispatcher']) {
    expect(Object.keys(JSON.parse(read(folder, 'package.json')).dependencies).join()).not.toContain('prisma');
    const modules = readdirSync(join(rootFolder, folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => read(folder, 'src', name));
    expect(modules.filter((text) => /from '[^']*(prisma|generated)/.test(text))).toEqual([]);
  }
});

test('the webhook API’s image has the console, built before the service is deployed with its dependencies', () => {
  const [, dockerfile] = dockerfiles.find(([name]) => name === 'webhook-api')!;
  const build = dockerfile.indexOf('"@gatepost/console" run build');
  expect(build).toBeGreaterThan(0);
  expect(dockerfile.indexOf('deploy --legacy')).toBeGreaterThan(build);
  const { dependencies } = JSON.parse(read('services/webhook-api/package.json'));
  expect(dependencies).toHaveProperty('@gatepost/console');
  // The packed files are the served ones.
  expect(JSON.parse(read('packages/console/package.json')).files).toEqual(['dist/site']);
  expect(read('packages/console/vite.config.ts')).toContain('dist/site');
});

test('the bill of materials lists, of each service, the packages that its image has', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { sbom: string } };
  expect(scripts.sbom).toContain('sbom --split --prod');
  for (const name of ours) expect(scripts.sbom).toContain(`--filter @gatepost/${name} `);
});

test('the README builds the images of this checkout', () => {
  expect(read('README.md')).toContain('docker compose up --build --detach --wait');
});
