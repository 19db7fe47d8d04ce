import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openConnection } from '@gatepost/amqp/connection';
import { topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';

const folder = fileURLToPath(new URL('..', import.meta.url));
const example = readFileSync(`${folder}example.ts`, 'utf8');
const readme = readFileSync(`${folder}README.md`, 'utf8');

test('the example in the README is the one that runs, and prints what the README says', async () => {
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
  await using vhost = await freshVhost();
  const { recovering } = await openConnection(
    { url: vhost.url, name: 'test', log: openLog('test', 'silent'), topology },
    async () => {},
  );
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--conditions=source', 'example.ts'], {
    cwd: folder,
    env: { ...process.env, PRODUCER_AMQP_URL: vhost.url, NODE_OPTIONS: '' },
  });
  await recovering.close();
  expect(stderr).toBe('');
  expect(readme).toContain(`\`\`\`\n${stdout}\`\`\``);
});
