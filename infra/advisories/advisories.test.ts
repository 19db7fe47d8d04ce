import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

// The test's own registry: its findings, or the status it answers with.
let answer: { status: number; body: unknown };
let asked: string[] = [];
const registry = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  request.resume().on('end', () => {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
});
beforeAll(() => new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve)));
afterAll(async () => {
  registry.closeAllConnections();
  await new Promise((resolve) => registry.close(resolve));
});

async function run(
  status: number,
  body: unknown,
  url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
) {
  [answer, asked] = [{ status, body }, []];
  const program = fileURLToPath(new URL('advisories.ts', import.meta.url));
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, npm_config_registry: url, NO_PROXY: '127.0.0.1' },
  });
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, output };
}
const advisory = (severity: string) => ({
  got: [
    {
      id: 1,
      url: 'https://advisories.example/1',
      title: 'A hole',
      severity,
      vulnerable_versions: '<99',
      cwe: ['CWE-1'],
    },
  ],
});

test('an advisory of high severity for a locked package fails the check and is named', async () => {
  const { code, output } = await run(200, advisory('high'));
  expect(output).toMatch(
    /^high: got \d+\.\d+\.\d+ \(<99\): A hole, https:\/\/advisories.example\/1, by way of \S+>got$/m,
  );
  expect(code).toBe(1);
  expect(asked).toEqual(['POST /-/npm/v1/security/advisories/bulk']);
});

test('a moderate advisory is named without failing the check, and no advisories are reported as such', async () => {
  const moderate = await run(200, advisory('moderate'));
  expect(moderate).toMatchObject({ code: 0, output: expect.stringContaining('moderate: got') });
  expect(await run(200, {})).toEqual({
    code: 0,
    output: 'The registry knows of no hole in what the lock file names.\n',
  });
});

test('a service that does not answer is reported, and does not fail the check', async () => {
  const notChecked = { code: 0, output: expect.stringMatching(/^Not checked: .* did not answer \(\w+\)\.\n$/) };
  expect(await run(405, {})).toEqual(notChecked);
});
