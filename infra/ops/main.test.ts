import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import ops from './main.ts';

let url: string;
let asked: string[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  answer(request, response);
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  answer = (_, response) => response.end('{}');
});

/** What it prints; the lines of what went wrong. */
async function run(args: string, env: object = { OPS_ACCESS_TOKEN: 'a token' }): Promise<{ out: string; err: string }> {
  let [out, err] = ['', ''];
  const written = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  const noted = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  try {
    const given = { ISSUER: `${url}/`, WEBHOOK_API_URL: url, ...env };
    await ops({ args: args.split(' ').filter(Boolean), env: given, home: '/nowhere' });
    return { out, err };
  } catch (error) {
    return { out, err: (error as { lines: string[] }).lines.join('\n') };
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

test.each([
  ['', 'which command?'],
  ['stauts', 'there is no command `stauts`'],
  ['status acme', '`status` does not take acme'],
  ['find', 'GUID is missing'],
  ['waiting', 'ORGANIZATION is missing'],
  ['waiting acme --all', '`waiting` does not take --all'],
  ['pause', 'ORGANIZATION is missing'],
  ['pause acme widgets', '`pause` does not take widgets'],
  ['pause acme --dry-run', '`pause` does not take --dry-run'],
  ['pause acme --hook 1', 'an organization, or a hook?'],
  ['delete', 'ORGANIZATION is missing'],
  ['delete acme other', '`delete` does not take other'],
  ['dead-letters', 'dead-letters: list, show, publish or drop?'],
  ['dead-letters list some', 'dead-letters list: which?'],
  ['dead-letters show', 'ID is missing'],
  ['dead-letters show --all', 'dead-letters show: which?'],
  ['dead-letters drop', 'ID is missing'],
  ['dead-letters drop abc --all', 'dead-letters drop: which?'],
  ['dead-letters publish --all --reason not_json', 'dead-letters publish: which?'],
  ['secret acme', 'HOOK is missing'],
  ['secret acme 1 --overlap soon', '--overlap: how many hours?'],
  ['log-level', 'OPS-URL is missing'],
])('`%s` asks nothing of the system, says what is wrong and what there is', async (args, message) => {
  const { err } = await run(args);
  expect(err.split('\n')[0]).toBe(message);
  expect(err).toContain('npm run ops -- status');
  expect(asked).toEqual([]);
});

test('a list is shown beyond its first page, however the API calls itself, and says where it stops', async () => {
  answer = (request, response) => {
    const page = Number(new URL(request.url!, url).searchParams.get('page') ?? 1);
    response.setHeader(
      'link',
      `<https://elsewhere.example/api/admin/organizations?per_page=100&page=${page + 1}>; rel="next"`,
    );
    response.end(JSON.stringify(Array.from({ length: 100 }, (_, index) => page * 1000 + index)));
  };
  const { out, err } = await run('organizations');
  expect(JSON.parse(out)).toHaveLength(1_000);
  expect(err).toBe('there are more: these are the first 1000\n');
  expect(asked.at(-1)).toBe('GET /admin/organizations?per_page=100&page=10');
});

test('whoever has no right, or an API that is not there, is told so in words', async () => {
  answer = (_, response) => response.writeHead(404).end('{"message":"Not Found"}\n');
  expect((await run('status')).err).toMatch(/^GET \/admin\/status: 404\n.*\n.*site_admin/);
  answer = (_, response) => response.writeHead(200).end('<p>another site</p>');
  expect((await run('status')).err).toMatch(/ answers something else than JSON: is it what it should be\?\n<p>/);
  expect((await run('status', {})).err).toMatch(/ answers something else than JSON/);
  answer = (_, response) => response.writeHead(404).end('{}');
  expect((await run('status', {})).err).toMatch(
    /^no token for .*oauth\/token answers 404\nOPS_CLIENT_ID.* site_admin\.$/,
  );
  answer = (request) => request.socket.destroy();
  expect((await run('status')).err).toMatch(/ does not answer: /);
});

test('reseal asks the gate first, and says what to grant a machine that may not', async () => {
  answer = (_, response) => response.writeHead(403).end('{"error_description":"client is not authorized"}');
  const { err } = await run('reseal');
  expect(err).toContain('with the scope update:encryption_keys');
  expect(asked).toEqual(['POST /oauth/token']);
});
