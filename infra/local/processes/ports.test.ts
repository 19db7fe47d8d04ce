import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { freePorts } from '@gatepost/testkit/system';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answers, checkPorts, holderOf, servicePorts } from './ports.ts';

const server = createServer();
let taken = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  taken = (server.address() as { port: number }).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('tells an answering port from a silent one', async () => {
  const [free = 0] = await freePorts(1);
  expect([await answers(taken), await answers(free)]).toEqual([true, false]);
});

test('names the process that holds a port', async () => {
  const program =
    "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const port = Number(await new Promise((resolve) => child.stdout.once('data', resolve)));
    expect(await holderOf(port)).toMatch(
      new RegExp(`^process ${child.pid} \\(.*node -e .* in ${process.cwd()}\\)$`, 's'),
    );
    expect(await holderOf((await freePorts(1))[0]!)).toBe('another process');
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
  }
});

test('says which variable moves a taken port, and which process holds it', async () => {
  const others = Object.fromEntries(Object.keys(servicePorts).map((variable) => [variable, '0']));
  await expect(checkPorts({ ...others, AUTH_PORT: String(taken) })).rejects.toThrow(
    new RegExp(`Port ${taken} is taken by process ${process.pid} .*set AUTH_PORT to a free port`),
  );
  const [free] = await freePorts(1);
  await expect(checkPorts({ ...others, AUTH_PORT: String(free) })).resolves.toBeUndefined();
});
