import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { seedFiles, servicesEnv, withFiles, writeEnvFile } from '../commands/environment.ts';
import { homeFolder, rootFolder } from './home.ts';

const all = mkdtempSync(join(tmpdir(), 'gatepost-home-'));
afterAll(() => rmSync(all, { recursive: true }));

const newHome = () => mkdtempSync(join(all, 'one-'));
const urls = {
  PostgreSQL: 'postgres://u:p@127.0.0.1:1/gatepost',
  Redis: 'redis://:p@127.0.0.1:2',
  RabbitMQ: 'amqp://u:p@127.0.0.1:3/gatepost',
};
const files = { cert: '/tls/cert.pem', key: '/tls/cert.key' };

test('a relative GATEPOST_HOME is taken from where the command was typed', () => {
  expect(homeFolder({ GATEPOST_HOME: 'here', INIT_CWD: '/somewhere' })).toBe('/somewhere/here');
  expect(homeFolder({ GATEPOST_HOME: '/there' })).toBe('/there');
  expect(homeFolder({})).toMatch(/\/\.gatepost$/);
});

test('writes what the services need, for the owner only, with the same key each time', async () => {
  const home = newHome();
  const first = await servicesEnv(home, {}, urls, files);
  const file = join(home, 'services.env');
  writeEnvFile(home, 'services', first);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(parseEnv(readFileSync(file, 'utf8'))).toEqual(first);
  expect(first).toMatchObject({
    DATABASE_URL: urls.PostgreSQL,
    REDIS_URL: urls.Redis,
    AMQP_URL: urls.RabbitMQ,
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    SEED_FILE: expect.stringMatching(/\/infra\/demo\/seed\.yaml$/),
    GATEPOST_HOME: home,
    AUTH_TLS_PORT: '4443',
    WEBHOOK_API_TLS_PORT: '4543',
    TLS_CERT_FILE: files.cert,
    ISSUER_ALIASES: 'https://localhost:4443/',
  });
  expect(Buffer.from(first.SECRETS_KEY ?? '', 'base64')).toHaveLength(32);
  expect((await servicesEnv(home, {}, urls, files)).SECRETS_KEY).toBe(first.SECRETS_KEY);
});

test('the given environment overrides what is made', async () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const given = { SECRETS_KEY: key, DELIVERY_ALLOWED_NETWORKS: '', AUTH_PORT: '4410', MAIL_URL: 'smtp://a b#c@host' };
  const home = newHome();
  const values = await servicesEnv(home, given, urls, files);
  expect(values).toMatchObject({ ...given, ISSUER: 'http://localhost:4410/' });
  writeEnvFile(home, 'services', values);
  expect(parseEnv(readFileSync(join(home, 'services.env'), 'utf8'))).toMatchObject(given);
  const { ISSUER } = await servicesEnv(home, { ...given, ISSUER: 'https://id.example/' }, urls, files);
  expect(ISSUER).toBe('https://id.example/');
});

test('an empty variable is passed on where empty means none, and counts as not given elsewhere', async () => {
  const none = {
    ACTIONS_ALLOWED_HOSTS: '',
    DELIVERY_ALLOWED_NETWORKS: '',
    OUTBOUND_ALLOWED_NETWORKS: '',
    RETRY_SCHEDULE_SECONDS: '',
  };
  const values = await servicesEnv(newHome(), { ...none, AUTH_PORT: '', MAIL_FROM: '' }, urls, files);
  expect(values).toMatchObject({ ...none, AUTH_PORT: '4400' });
  expect(values).not.toHaveProperty('MAIL_FROM');
});

test('services.env has every documented variable that is given, and nothing else of the environment', async () => {
  const text = readFileSync(join(rootFolder, 'docs/configuration.md'), 'utf8');
  const documented = [...text.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name]) => name!);
  expect(documented.length).toBeGreaterThan(50);
  const made = await servicesEnv(newHome(), {}, urls, files);
  const others = documented.filter((name) => !(name in made));
  const given = Object.fromEntries(
    others.flatMap((name) => [
      [name, '1'],
      [`${name}_FILE`, '/file'],
    ]),
  );
  const values = await servicesEnv(newHome(), { ...given, PATH: '/bin', PGPASSWORD: 'of somebody' }, urls, files);
  expect(Object.keys(values).sort()).toEqual([...Object.keys(made), ...Object.keys(given)].sort());
});

// The generated key, and a store of our own, were used instead, without a word.
test('what is given in a file counts as given, also where we would have one of our own', async () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const folder = newHome();
  writeFileSync(join(folder, 'key'), `${key}\n`);
  writeFileSync(join(folder, 'url'), urls.Redis);
  const files = { SECRETS_KEY_FILE: 'key', REDIS_URL_FILE: join(folder, 'url'), TLS_CERT_FILE: 'x', INIT_CWD: folder };
  const given = await withFiles(files);
  expect(given).toEqual({ SECRETS_KEY: key, REDIS_URL: urls.Redis, TLS_CERT_FILE: 'x', INIT_CWD: folder });
  expect((await withFiles({ ...files, SECRETS_KEY: 'another' })).SECRETS_KEY).toBe('another');
  await expect(withFiles({ ...files, AMQP_URL_FILE: 'none' })).rejects.toThrow(
    `AMQP_URL_FILE: the file cannot be read (ENOENT), seen from ${folder}`,
  );
});

test('a seed of one’s own joins the demo’s, relative to where the command was typed; an empty one means none', () => {
  const demo = expect.stringMatching(/\/infra\/demo\/seed\.yaml$/);
  expect(seedFiles({})).toEqual([demo]);
  const [here, more] = [newHome(), join(newHome(), 'more.yaml')];
  for (const file of [join(here, 'mine.yaml'), more]) writeFileSync(file, '');
  const own = (SEED_FILE: string) => seedFiles({ SEED_FILE, INIT_CWD: here });
  expect(own(`mine.yaml, ${more}`)).toEqual([demo, join(here, 'mine.yaml'), more]);
  expect(() => own('mine.yaml,main.yaml')).toThrow(
    `SEED_FILE: there is no such file (number 2 of 2), seen from ${here}`,
  );
  expect(seedFiles({ SEED_FILE: '' })).toEqual([]);
});
