/** Types docs/walk-through.md as written: against the test's own system, whose ports replace the usual ones. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSeed } from '@gatepost/contracts/seed';
import { freePorts, openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'docs/walk-through.md'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block!);

// The oldest version that knows `--json`.
const { stdout: curl } = spawnSync('curl', ['--help', 'all'], { encoding: 'utf8' });
const hasCurl = curl?.includes('--json') ?? false;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

test('each command of the walk-through works as written, and the receiver gets what it says', async () => {
  // Runs on machines that have it, which not all do.
  if (!hasCurl) return expect(page).toContain('you need curl 7.82 or newer');
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'walk-')), (path) => rmSync(path, { recursive: true }));
  const [gatePort, apiPort, receiverPort] = await freePorts(3);
  const moved = (block: string) =>
    block
      .replaceAll('localhost:4400', `localhost:${gatePort}`)
      .replaceAll('localhost:4500', `localhost:${apiPort}`)
      .replaceAll('127.0.0.2:8080', `127.0.0.2:${receiverPort}`)
      .replaceAll('listen(8080', `listen(${receiverPort}`)
      .replaceAll('orchard.yaml', join(folder, 'orchard.yaml'))
      .replaceAll('.gatepost/producer.env', join(folder, 'producer.env'));
  const [seed, start, ...commands] = blocks('sh').map(moved);
  expect(start).toMatch(/^SEED_FILE=\S+ npm start\n$/);
  const putAway = commands.pop()!;

  const shell = spawn('bash', ['-euo', 'pipefail'], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const ended = once(shell, 'exit');
  stack.defer(() => void shell.kill());
  const type = async (block: string) => {
    const mark = `done-${Math.random()}`;
    shell.stdin.write(`${block}\necho ${mark}\n`);
    await until(`the end of\n${block}`, () => {
      if (shell.exitCode !== null) throw new Error(`${block}\nended the shell:\n${said}`);
      return said.includes(mark);
    });
  };

  await type(seed!);
  const demo = moved(readFileSync(join(root, 'infra/demo/seed.yaml'), 'utf8'));
  writeFileSync(join(folder, 'demo.yaml'), demo);
  const system = stack.use(
    await openSystem({
      seedFile: `${join(folder, 'demo.yaml')},${join(folder, 'orchard.yaml')}`,
      env: {
        ISSUER: `http://localhost:${gatePort}/`,
        AUTH_PORT: String(gatePort),
        WEBHOOK_API_PORT: String(apiPort),
        WEBHOOK_API_AUDIENCE: `http://localhost:${apiPort}/`,
      },
    }),
  );
  writeFileSync(join(folder, 'producer.env'), `PRODUCER_AMQP_URL=${system.amqpUrl}\n`);
  for (const block of commands) await type(block);
  for (const event of ['ping', 'push'])
    await until(`the ${event}`, () => said.includes(`${event} arrived, its signature is right`));
  await type(putAway);
  shell.stdin.end();
  expect(await ended).toEqual([0, null]);
});

test('the seed file at the end of the walk-through is valid', () => {
  const [seed] = blocks('yaml');
  expect(parseSeed(seed!).organizations).toHaveLength(1);
});
