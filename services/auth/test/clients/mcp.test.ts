/**
 * The SDK of the Model Context Protocol, unmodified (mcp.mjs): its client knows only the address of a server, and finds the gate (RFC 9728,
 * RFC 8414), registers there, signs somebody in and calls a tool. The server checks our access tokens by the published keys.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import { freePort, openGate } from '../gate.ts';
import { managerSeed, openManager } from '../manager.ts';
import { fullSeed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** The server's address is the identifier of its API. */
const resource = `http://localhost:${await freePort()}/mcp`;
const gate = stack.use(
  await openGate({
    ...fullSeed,
    apis: [{ identifier: resource, name: 'Tools', allow_offline_access: true, scopes: ['mcp:tools'] }],
    clients: [managerSeed(['update:tenant_settings'])],
  }),
);
const manage = await openManager(gate);
await manage('PATCH', 'tenants/settings', { flags: { enable_dynamic_client_registration: true } });

test('an MCP client that knows only a server’s address registers itself, signs somebody in, calls a tool and refreshes', async () => {
  const program = spawn(process.execPath, [join(import.meta.dirname, 'mcp.mjs'), gate.issuer, resource], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  stack.defer(() => void program.kill());
  const ended = once(program, 'exit');
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const step = async () => JSON.parse(String((await lines.next()).value));

  const { registered, url } = await step();
  expect(registered).toMatchObject({ client_name: 'Assistant', token_endpoint_auth_method: 'none' });
  expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
    client_id: registered.client_id,
    code_challenge_method: 'S256',
    resource,
  });
  const browser = new Browser(gate);
  const consent = await browser.logIn(await browser.get(url));
  expect(consent.html).toContain('Assistant');
  const { location } = await browser.submit(consent, { action: 'default' });
  program.stdin.write(`${location!.searchParams.get('code')}\n`);
  expect(await step()).toEqual({ who: 'auth0|alice' });
  expect(await step()).toEqual({ who: 'auth0|alice', isRefreshed: true });
  expect(await ended).toEqual([0, null]);
});
