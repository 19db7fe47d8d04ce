import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('./slow-stop.ts', import.meta.url));

async function stop(takesMs: number, mayTakeMs: number): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--conditions=source', program], {
    env: { PATH: process.env.PATH, STOP_TAKES_MS: String(takesMs), STOP_MAY_TAKE_MS: String(mayTakeMs) },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let output = '';
  child.stdout!.on('data', (text) => {
    output += text;
  });
  child.once('message', () => child.kill('SIGTERM')); // it is ready
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

test('a service is given the time to stop that its environment asks for', async () => {
  const { code, output } = await stop(300, 60_000);
  expect(code).toBe(0);
  expect(output).toContain('"stopped"');
});

test('and is ended when it takes longer', async () => {
  const { code, output } = await stop(60_000, 100);
  expect(code).toBe(1);
  expect(output).toContain('did not stop in time');
});
