import { readFileSync } from 'node:fs';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { expect, test } from '@jest/globals';
import { demoSecrets, refuseDemo } from './demo-secrets.ts';
import { parseSeed } from './seed.ts';

const problemsOf = (text: string): string[] => {
  try {
    parseSeed(text);
    return [];
  } catch (error) {
    if (error instanceof Misconfigured) return error.problems;
    throw error;
  }
};

test('the demo seed is accepted', () => {
  const seed = parseSeed(readFileSync(new URL('../../../infra/demo/seed.yaml', import.meta.url), 'utf8'));
  expect(seed.clients.map((client) => client.client_id)).toEqual([
    'demo-web',
    'demo-m2m',
    'demo-spa',
    'demo-native',
    'gatepost-console',
    'demo-trusted',
    'example-express',
    'example-react',
    'example-nextjs',
    'example-vue',
    'example-spa',
    'example-fastapi',
    'example-go',
    'example-spring',
    'gatepost-cli',
    'demo-admin',
  ]);
  expect(seed.organizations[0]).toMatchObject({ login: 'acme', repositories: ['widgets', 'gadgets'] });
});

test('in production every secret of the demo seed is refused, and nothing else of it', () => {
  const demo = parseSeed(readFileSync(new URL('../../../infra/demo/seed.yaml', import.meta.url), 'utf8'));
  const secrets = demo.clients.flatMap(({ client_secret }) => client_secret ?? []);
  expect(demoSecrets.clientSecrets).toEqual(secrets);
  expect(demoSecrets.passwords).toEqual(
    demo.users.flatMap(({ user_id, password }) => (password ? [{ user_id, password }] : [])),
  );
  expect(() => refuseDemo(demo)).toThrow(Misconfigured);
  try {
    refuseDemo(demo);
  } catch (error) {
    expect((error as Misconfigured).problems.map((problem) => problem.split(':')[0])).toEqual([
      ...demo.clients.flatMap(({ client_secret }, index) => (client_secret ? [`clients[${index}].client_secret`] : [])),
      ...demo.users.map((_, index) => `users[${index}].password`),
    ]);
    expect((error as Misconfigured).message).not.toMatch(/demo-web-secret|correct horse/);
  }
  const own = { client_secret: undefined, password: undefined };
  refuseDemo({
    ...demo,
    clients: demo.clients.map((client) => ({ ...client, ...own })),
    users: demo.users.map((user) => ({ ...user, ...own })),
  });
});

test('an unknown key of a seed is refused with its path', () => {
  expect(problemsOf('clients:\n  - { client_id: a, callback: ["http://x/"] }\nfoo: 1')).toEqual([
    'clients[0].callback: unknown key',
    'foo: unknown key',
  ]);
});

test('everything wrong in a seed is reported at once', () => {
  const problems = problemsOf(`
apis: [{ identifier: x, signing_alg: HS256, scopes: ["two words"] }]
clients: [{ grant_types: [magic], web_origins: ["http://a/b"] }]
users: [{ user_id: alice, phone_number: "555" }]
organizations: [{ login: "a b", throttle: { rate: 0, burst: 1 } }]
`);
  const paths = problems.map((problem) => problem.split(':')[0]);
  expect(paths.sort()).toEqual([
    'apis[0].scopes[0]',
    'apis[0].signing_alg',
    'clients[0].client_id',
    'clients[0].grant_types[0]',
    'clients[0].web_origins[0]',
    'organizations[0].login',
    'organizations[0].throttle.rate',
    'users[0].phone_number',
    'users[0].user_id',
  ]);
});

test('an empty file is an empty seed, and a file that is not YAML is refused as such', () => {
  expect(parseSeed('')).toMatchObject({ clients: [], organizations: [] });
  expect(problemsOf('a: [')[0]).toMatch(/^not YAML: /);
});

test('an address with spaces around it, or a line break within, is refused: compared literally, it would match nothing', () => {
  for (const uri of [' https://a.example/cb', 'https://a.example/cb ', 'https://a.example/\\ncb'])
    expect(problemsOf(`clients:\n  - { client_id: a, name: A, app_type: spa, callbacks: ["${uri}"] }`)).toEqual([
      'clients[0].callbacks[0]: must be an absolute URI, without spaces around it',
    ]);
});

test('problems in a seed are reported with the name of the file', () => {
  expect(() => parseSeed('clients: [{}]', 'mine.yaml')).toThrow(
    /^bad seed file mine\.yaml:\n {2}clients\[0\]\.client_id: /,
  );
});
