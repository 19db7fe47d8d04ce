import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { page, pageFile } from './docs.ts';
import { findCommand, run } from './run.ts';
import { commands, globalOptions } from './table.ts';

let [out, err] = ['', ''];
beforeEach(() => {
  [out, err] = ['', ''];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(() => void jest.restoreAllMocks());

const env = { GATEPOST_CONFIG_DIR: path.join(mkdtempSync(path.join(tmpdir(), 'cli-')), 'none'), NO_COLOR: '1' };
const gatepost = (line: string, more: Record<string, string> = {}) =>
  run(line.split(' ').filter(Boolean), { ...env, ...more });

test('docs/cli.md describes all commands (`npm run docs` writes it)', () => {
  expect(readFileSync(pageFile, 'utf8')).toBe(page());
});

test('the commands that documents show are understood', () => {
  const root = path.join(import.meta.dirname, '../../..');
  const files = ['README.md', ...globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: root })];
  const wrong: string[] = [];
  for (const file of files)
    for (const [, line] of readFileSync(path.join(root, file), 'utf8').matchAll(/[`^$] ?gatepost ([a-z][^`\n]*)/gm)) {
      const argv = line!.split(/\s+/);
      const { command, words } = findCommand(argv);
      const isGroup = commands.some((each) => each.words[0] === words[0] && words.length === 1);
      const known = [...globalOptions, ...(command?.options ?? [])].map(({ name }) => `--${name}`);
      const unknown = argv.find((word) => /^--[a-z]/.test(word) && !known.includes(word.replace(/=.*/, '')));
      if ((!command && !isGroup) || unknown) wrong.push(`${file}: gatepost ${line}`);
    }
  expect(wrong).toEqual([]);
});

test.each([
  ['', 'gatepost COMMAND …'],
  ['hooks', 'gatepost hooks …'],
  ['hoks list', 'gatepost: there is no command `hoks list`'],
  ['hooks lst', 'gatepost: there is no command `hooks lst`'],
  ['users create a@b.example', 'gatepost: the password is missing'],
  ['hooks list', 'gatepost: which repository or organization?'],
  ['hooks list --repo acme', 'gatepost: acme is not OWNER/NAME'],
  ['hooks list --repo a/b --org a', 'gatepost: --repo or --org, not both'],
  ['hooks show --org acme', 'gatepost: HOOK is missing'],
  ['hooks show seven --org acme', 'gatepost: HOOK is a number, not seven'],
  ['hooks show 7 8 --org acme', 'gatepost: `hooks show` does not take 8'],
  ['hooks list --org acme --color', "gatepost: Unknown option '--color'"],
  ['hooks create u --org acme --content-type xml', 'gatepost: --content-type is one of json, form'],
  ['hooks edit 7 --org acme', 'gatepost: nothing to change'],
  ['hooks edit 7 --org acme --overlap 5', 'gatepost: --overlap goes with a new secret: --secret-file FILE'],
  ['deliveries list 7 --org acme --limit 0', 'gatepost: --limit is a whole number from 1 to 10000'],
  ['listen --org a --filter action', 'gatepost: --filter action: it is KEY=VALUE or KEY!=VALUE'],
  ['listen --org a --forward-to ftp://localhost', 'gatepost: --forward-to is an http or https URL'],
  ['listen --replay there-is-none', 'gatepost: --replay goes with --forward-to URL'],
  ['listen --replay', "gatepost: Option '--replay <value>' argument missing"],
  ['explain 7 --org a', 'gatepost: which hook is that delivery for?'],
  ['deliveries replay 7 --org a', 'gatepost: since when?'],
  [
    'deliveries replay 7 --org a --since yesterday',
    'gatepost: --since: 90s, 30m, 2h or 3d ago, or a time with its zone such as 2026-11-22T10:00:00Z',
  ],
  ['dead-letters drop', 'gatepost: which? One of ID, --reason REASON and --all'],
  ['dead-letters publish abc --all', 'gatepost: which? One of ID, --reason REASON and --all'],
  ['pause', 'gatepost: an organization, or a hook?'],
  ['throttle set acme 0 1', 'gatepost: RATE and BURST are numbers above zero'],
  ['completion csh', 'gatepost: SHELL is one of bash, zsh, fish'],
  [
    '--api http://api.example login',
    'gatepost: http://api.example is not https: tokens would cross the network in the clear',
  ],
  [
    '--api http://127.0.0.1.api.example login',
    'gatepost: http://127.0.0.1.api.example is not https: tokens would cross the network in the clear',
  ],
])('`%s` sends no request, says what is wrong, and ends with 2', async (line, message) => {
  expect(await gatepost(line)).toBe(2);
  expect(out).toBe('');
  expect(err.split('\n')[0]).toBe(message);
});

test('a mistyped command is answered with the right one', async () => {
  await gatepost('hoks list');
  await gatepost('hooks lst');
  expect(err).toContain('  `gatepost --help` lists them.\n');
  expect(err).toContain('  `gatepost hooks --help` lists them.\n');
});

test('without a sign-in a command says how to sign in, and ends with 3', async () => {
  expect(await gatepost('hooks list --org acme --api https://api.example')).toBe(3);
  expect(err).toBe('gatepost: not signed in to https://api.example\n  gatepost login --api https://api.example\n');
  expect(await gatepost('whoami', { GATEPOST_TOKEN: 't' })).toBe(2);
  expect(err).toContain('GATEPOST_TOKEN is for one API: GATEPOST_API says which');
});

// It counted as an address, or a name, of no letters.
test.each([
  ['GATEPOST_REPO', 'hooks list', 2, 'which repository or organization?'],
  ['GATEPOST_API', 'whoami', 3, 'not signed in to any API'],
])('%s without a value counts as not set', async (name, line, code, said) => {
  expect(await gatepost(line, { [name]: '' })).toBe(code);
  expect(err.split('\n')[0]).toBe(`gatepost: ${said}`);
});

test.each([
  ['GATEPOST_TOKEN', 'whoami', { GATEPOST_TOKEN: 't' }],
  ['GATEPOST_CLIENT_SECRET', 'whoami', { GATEPOST_CLIENT_ID: 'ci', GATEPOST_CLIENT_SECRET: 's' }],
  ['GATEPOST_CLIENT_SECRET', 'login --machine --client-id ci', { GATEPOST_CLIENT_SECRET: 's' }],
])('%s is sent to the API in GATEPOST_API, and to no other: `%s` refuses one', async (name, line, secret) => {
  const asked: string[] = [];
  const server = createHttpServer(({ url }, response) => {
    asked.push(url!);
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const there = { ...secret, GATEPOST_API: 'https://api.example/' };
  expect(await gatepost(`${line} --api ${other}`, there)).toBe(2);
  expect(err).toContain(
    `gatepost: ${name} is for https://api.example, not for ${other}\n  If it is for that one: GATEPOST_API=${other}\n`,
  );
  expect(asked).toEqual([]);
  expect(await gatepost(`${line} --api ${other}`, { ...there, GATEPOST_API: `${other}/` })).not.toBe(2);
  server.close();
});

test.each([
  ['localhost:4500', 'gatepost: localhost:4500 is no http or https URL\n  Begin it with http:// or https://.\n'],
  ['api.example', 'gatepost: api.example is no URL\n  Begin it with http:// or https://.\n'],
])('an address without a scheme is refused with that reason: %s', async (address, said) => {
  expect(await gatepost(`login --api ${address}`)).toBe(2);
  expect(err).toBe(said);
});

test('credentials from the environment that are refused are named, in a message of one line', async () => {
  const server = createHttpServer((request, response) => {
    const issuer = `http://localhost:${port}/`;
    const endpoint = `${issuer}token`;
    const answers: Record<string, object> = {
      '/.well-known/oauth-protected-resource': { resource: issuer, authorization_servers: [issuer] },
      '/.well-known/openid-configuration': {
        issuer,
        token_endpoint: endpoint,
        device_authorization_endpoint: endpoint,
        revocation_endpoint: endpoint,
      },
      '/token': { error: 'invalid_client', error_description: 'client authentication failed' },
    };
    const answer = answers[request.url!];
    response.writeHead(answer && request.url !== '/token' ? 200 : 401);
    response.end(JSON.stringify(answer ?? { message: 'Bad\n\ncredentials' }));
  }).listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const there = { GATEPOST_API: `http://localhost:${port}` };
  expect(await gatepost('hooks list --org acme', { ...there, GATEPOST_TOKEN: 't' })).toBe(3);
  expect(err).toContain('gatepost: Bad credentials (GET');
  expect(err).toContain('GATEPOST_TOKEN is not good, or not any more: give a new one, or unset it and gatepost login');
  err = '';
  const machine = { GATEPOST_CLIENT_ID: 'ci', GATEPOST_CLIENT_SECRET: 'wrong' };
  expect(await gatepost('hooks list --org acme', { ...there, ...machine })).toBe(3);
  expect(err).toContain('  Is that the machine ci’s secret? An administrator of the gate gives it a new one.');
  server.close();
});

// fetch's error, which was shown, repeated both.
test.each([
  ['a token with a line break', { GATEPOST_TOKEN: 'eyJhbGci\nOiJub25l', GATEPOST_API: 'http://127.0.0.1:9' }, 3],
  ['a token that was cut', { GATEPOST_TOKEN: 'eyJhbGci…', GATEPOST_API: 'http://127.0.0.1:9' }, 3],
  ['a password in an address', { GATEPOST_TOKEN: 't', GATEPOST_API: 'https://eyJhbGci:eyJhbGci@127.0.0.1:9' }, 2],
])('%s is refused and not shown', async (_, wrong, code) => {
  expect(await gatepost('whoami', wrong)).toBe(code);
  expect(err).toMatch(/^gatepost: (that is no token|an address must not have)/);
  expect(out + err).not.toContain('eyJ');
});

test('a command whose API cannot be reached names the address and ends with 6', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await gatepost('whoami', { GATEPOST_TOKEN: 't', GATEPOST_API: `http://127.0.0.1:${port}` })).toBe(6);
  expect(err).toContain(`http://127.0.0.1:${port} does not answer: ECONNREFUSED`);
});

test('`verify` takes any fraction of a second as its limit', async () => {
  expect(await gatepost('verify http://127.0.0.1:9/ --secret s --timeout 2.01')).toBe(1);
  expect(err).toContain('gatepost: 0 passed, 0 could be better, 1 failed');
});

const main = ['--conditions=source', path.join(import.meta.dirname, 'main.ts')];

test('output that cannot be written is an error, unless nobody reads any further', async () => {
  // No process may write to what is open for reading only; a full disk fails in the same way.
  const unwritable = openSync('/dev/null', 'r');
  const { status, stderr } = spawnSync(process.execPath, [...main, 'help'], {
    stdio: ['ignore', unwritable, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(unwritable);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^gatepost: the output could not be written: .*\n$/)]);

  const unread = spawn(process.execPath, [...main, 'help']);
  unread.stdout.destroy();
  let said = '';
  unread.stderr.on('data', (text) => {
    said += text;
  });
  expect([...(await once(unread, 'close')), said]).toEqual([0, null, '']);
});

test('the exit code is the same when nobody reads the standard error', async () => {
  const unread = spawn(process.execPath, [...main, 'hoks', 'list']);
  unread.stderr.destroy();
  expect(await once(unread, 'close')).toEqual([2, null]);
});

/** A hook's log, of which each list and each stream is the next one given; all but the last stream break. */
async function openLog(lists: object[][], streams: object[][]) {
  const server = createHttpServer(({ url }, response) => {
    if (!url!.includes('/stream')) return void response.end(JSON.stringify(lists.shift()));
    const events = streams.shift()!.map((item) => `event: delivery\ndata: ${JSON.stringify(item)}\n\n`);
    response.write(`retry: 1000\n\n${events.join(':\n\n')}`, () => streams.length > 0 && response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const there = { GATEPOST_TOKEN: 't', GATEPOST_API: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const tail = async (options: string) => {
    const code = await gatepost(`deliveries tail 1 --repo a/b --interval 1 ${options} --json`, there);
    return { code, ids: out.split('\n').flatMap((line) => (line ? [JSON.parse(line).id as number] : [])) };
  };
  return { tail, [Symbol.dispose]: () => void server.close() };
}

/** Of a log, `ms` later than its first. */
const logged = (id: number, ms: number, status = 200) => ({
  ...{ id, guid: `guid-${id}`, event: 'push', action: null, status: 'OK', status_code: status, duration: 0.1 },
  delivered_at: new Date(Date.UTC(2026, 10, 27, 12) + ms).toISOString(),
});

test('`deliveries tail` shows each delivery once, whatever its id, and those that were made while its connection was broken', async () => {
  const past = Array.from({ length: 1_001 }, (_, n) => logged(2_001 - n, 10_000 - n));
  const retry = logged(7, 20_000);
  const slow = logged(2_002, 9_900);
  const missed = logged(2_005, 20_200);
  const last = logged(2_004, 20_300);
  using log = await openLog(
    [past, [missed, retry, logged(2_003, 11_000), slow, ...past.slice(0, 500)]],
    [
      [logged(900, 5_000), past[0]!, logged(2_003, 11_000), slow, retry, retry],
      [retry, missed, last],
    ],
  );
  expect(await log.tail('--count 5')).toEqual({ code: 0, ids: [2_003, 2_002, 7, 2_005, 2_004] });
  expect(err).toMatch(/^http.* does not answer: .*; trying again\n$/);
});

test('`deliveries tail --status failure` shows failed deliveries only, and says when it has missed some', async () => {
  const many = Array.from({ length: 1_001 }, (_, n) => logged(1_002 - n, 1_002 - n));
  using log = await openLog(
    [[], many],
    [
      [logged(1, 1), logged(2, 2, 500)],
      [logged(2_000, 2_000), logged(2_001, 2_001, 404)],
    ],
  );
  expect(await log.tail('--status failure --count 2')).toEqual({ code: 0, ids: [2, 2_001] });
  expect(err).toContain(
    'Not all that was delivered meanwhile follows: gatepost deliveries list 1 --repo a/b shows it.',
  );
});

test.each(commands.map((command) => [command.words.join(' '), command] as const))(
  '`%s` has help',
  async (line, { summary }) => {
    expect(await gatepost(`${line} --help`)).toBe(0);
    expect(out).toContain(`${summary}.`);
    expect(out).toContain('--json');
    expect(summary).toMatch(/^[A-Z].*[^.]$/);
  },
);

test('options may come before the command, with their values', async () => {
  for (const line of [
    '--repo acme/widgets hooks list',
    'hooks --repo acme/widgets list',
    '--json --repo acme/widgets hooks list',
  ])
    expect(findCommand(line.split(' ')).command?.words).toEqual(['hooks', 'list']);
  expect(await gatepost('--repo acme hooks list')).toBe(2);
  expect(err).toContain('gatepost: acme is not OWNER/NAME');
});

test('an option takes a value in all commands that have it, or in none', () => {
  const kinds = new Set(
    [...globalOptions, ...commands.flatMap(({ options = [] }) => options)].map(
      ({ name, value }) => `${name} ${value !== undefined}`,
    ),
  );
  expect(new Set([...kinds].map((kind) => kind.split(' ')[0])).size).toBe(kinds.size);
});

test('help can be asked for in three ways', async () => {
  const texts: string[] = [];
  for (const line of ['--help', 'help', '-h']) {
    out = '';
    expect(await gatepost(line)).toBe(0);
    texts.push(out);
  }
  expect(new Set(texts).size).toBe(1);
  out = '';
  expect(await gatepost('help hooks create')).toBe(0);
  expect(out).toContain('gatepost hooks create URL [options]');
  out = '';
  expect(await gatepost('help users import')).toBe(0);
  expect(out).toContain('From Auth0 (docs/migrating-from-auth0.md) says'); // no link: a terminal opens none
});
