/** The receivers of docs/receivers.md, exactly as printed there, tested by `gatepost verify`; and receivers with faults. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';

const secret = 'change me';
const cli = path.join(import.meta.dirname, '../packages/cli/src/main.ts');
const page = readFileSync(path.join(import.meta.dirname, '../docs/receivers.md'), 'utf8');
const folder = mkdtempSync(path.join(tmpdir(), 'receivers-'));
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A section's program and the command that starts it. */
function programOf(language: string) {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${language}\n`))!;
  const [, file, code, command] = /[Ss]ave as `([\w.]+)`.*?```\w+\n(.*?)```.*?```sh\n(.*?)\n```/s.exec(section)!;
  return { file: file!, code: code!, command: command! };
}

/** Whether the machine has the program; Java and Python may be stubs that cannot run. */
function isHere(program: string, version: string): boolean {
  try {
    execFileSync(program, [version], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
const runtimes: [language: string, program: string, version: string][] = [
  ['Node', 'node', '--version'],
  ['Python', 'python3', '--version'],
  ['Go', 'go', 'version'],
  ['Java', 'java', '-version'],
  ['Ruby', 'ruby', '-rwebrick'],
  ['PHP', 'php', '--version'],
];

type Verdict = { failed: number; checks: { name: string; result: string; instead: string | null }[] };

/** `gatepost verify`, from its source. Its status says whether anything failed. */
async function verify(url: URL, ...options: string[]): Promise<Verdict> {
  const args = ['--conditions=source', cli, 'verify', url.href, '--secret', secret, '--json', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const verdict = (await json(child.stdout)) as Verdict;
  expect((await ended)[0]).toBe(verdict.failed > 0 ? 1 : 0);
  return verdict;
}

/** Starts a program as the page says, on its own port, and runs all checks. */
async function tryOut(file: string, code: string, command: string): Promise<Record<string, string>> {
  const [port] = await freePorts(1);
  writeFileSync(path.join(folder, file), code.replace('3000', String(port)));
  const child = spawn('sh', ['-c', command.replace('3000', String(port))], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  running.push(child);
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part) => (said += part));
  const url = new URL(`http://localhost:${port}/hook`);
  await until('the receiver', async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${said}`);
    return fetch(url).then(
      () => true,
      () => false,
    );
  });
  const { checks } = await verify(url, '--content-type', 'json', '--timeout', '60');
  return Object.fromEntries(checks.flatMap(({ name, instead }) => (instead === null ? [] : [[name, instead]])));
}

const found = runtimes.filter(([, program, version]) => isHere(program, version));

test('Node and Python are installed', () => {
  expect(found.map(([language]) => language)).toEqual(expect.arrayContaining(['Node', 'Python']));
});

describe.each(found)('the receiver in %s', (language) => {
  test('behaves as a good receiver does', async () => {
    const { file, code, command } = programOf(language);
    expect(await tryOut(file, code, command)).toEqual({});
  });
});

/** The page's programs with one fault each, and the findings. */
const faults: [fault: string, language: string, right: string, wrong: string, found: string[]][] = [
  [
    'checks no signature',
    'Node',
    "!isSigned(body, request.headers['x-hub-signature-256'])",
    'false',
    [
      'refuses another secret’s signature',
      'refuses a changed body',
      'refuses a missing signature',
      'refuses an empty secret’s signature',
      'refuses SHA-1 alone',
    ],
  ],
  [
    'checks a signature only if there is one',
    'Python',
    'if not is_signed',
    'if self.headers["X-Hub-Signature-256"] and not is_signed',
    ['refuses a missing signature', 'refuses SHA-1 alone'],
  ],
  [
    'accepts SHA-1',
    'Python',
    'if not is_signed(body, self.headers["X-Hub-Signature-256"])',
    'if not is_signed(body, self.headers["X-Hub-Signature-256"]) and "sha1=" + hmac.new(SECRET, body, "sha1").hexdigest() != self.headers["X-Hub-Signature"]',
    ['refuses SHA-1 alone'],
  ],
  [
    'takes a missing secret for an empty one',
    'Node',
    "isSigned(body, request.headers['x-hub-signature-256'])",
    "(isSigned(body, request.headers['x-hub-signature-256']) || request.headers['x-hub-signature-256'] === 'sha256=' + createHmac('sha256', '').update(body).digest('hex'))",
    ['refuses an empty secret’s signature'],
  ],
  [
    'computes the signature of the parsed body',
    'Node',
    '.update(body)',
    '.update(JSON.stringify(JSON.parse(body)))',
    ['signs bytes, not characters'],
  ],
  [
    'decodes each chunk of the body separately',
    'Node',
    'Buffer.concat(parts)',
    "parts.join('')",
    ['a body that comes in pieces'],
  ],
  [
    'answers an error to a delivery that it has seen',
    'Python',
    '        self.answer(204)',
    '        guid = self.headers["X-GitHub-Delivery"]\n        again = guid in SEEN\n        SEEN.add(guid)\n        self.answer(409 if again else 204)\n\n    global SEEN\n    SEEN = set()',
    ['the same event twice'],
  ],
  [
    'handles one request at a time',
    'Python',
    'Server(ThreadingHTTPServer)',
    'Server(__import__("http.server").server.HTTPServer)',
    ['others while one is slow'],
  ],
  [
    'refuses bodies over 5 MB',
    'Node',
    'const payload',
    'if (body.length > 5e6) return response.writeHead(413).end();\n    const payload',
    ['20 MB'],
  ],
  [
    'ends with the connection of a body that breaks off',
    'Node',
    '  try {\n    const body',
    "  request.on('error', (error) => setImmediate(() => { throw error; }));\n  try {\n    const body",
    // It has ended, so all that follows fails too.
    [
      'a body that breaks off',
      'others while one is slow',
      'the same event twice',
      'events out of order',
      'an event it does not know',
      'ten at once',
      '1 MB',
      '20 MB',
      'GET and HEAD',
      'still works after all this',
    ],
  ],
  [
    'fails on an unknown event',
    'Node',
    'const payload',
    "if (request.headers['x-github-event'] === 'event_of_tomorrow') return response.writeHead(500).end();\n    const payload",
    ['an event it does not know'],
  ],
];

describe.each(faults)('a receiver that %s', (_fault, language, right, wrong, expected) => {
  test(`is reported as such (${language})`, async () => {
    const { file, code, command } = programOf(language);
    expect(code).toContain(right);
    const told = await tryOut(
      file,
      code.replace(right, () => wrong),
      command,
    );
    expect(Object.keys(told).sort()).toEqual([...expected].sort());
  });
});

test('a receiver that cannot be reached is reported once, and gets no further requests', async () => {
  const url = new URL(`http://localhost:${(await freePorts(1))[0]}/hook`);
  const { checks } = await verify(url, '--timeout', '5');
  expect(checks).toMatchObject([{ name: 'a signed delivery', result: 'failed', instead: 'ECONNREFUSED' }]);
});
