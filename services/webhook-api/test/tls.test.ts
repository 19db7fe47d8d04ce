/** The API's port with TLS of its own, and tokens of the gate's second issuer. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import tls from 'node:tls';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { freePorts } from '@gatepost/testkit/system';
import { afterAll, expect, test } from '@jest/globals';
import { audience, call, openApi } from './support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const certificates = stack.use(makeCertificates());
const folder = dirname(certificates.rootFile);
const files = { TLS_CERT_FILE: join(folder, 'api.crt'), TLS_KEY_FILE: join(folder, 'api.key') };
const { cert, key } = certificates.issue({ name: 'localhost' });
writeFileSync(files.TLS_CERT_FILE, cert);
writeFileSync(files.TLS_KEY_FILE, key);
tls.setDefaultCACertificates([...tls.getCACertificates(), certificates.root]);
const [port] = await freePorts(1);
const alias = 'https://localhost:4443/';
const api = stack.use(
  await openApi({
    WEBHOOK_API_TLS_PORT: String(port),
    ...files,
    ISSUER_ALIASES: `${alias}, https://127.0.0.1:4443/`,
  }),
);
const secure = { base: `https://localhost:${port}` };
const hooks = '/repos/acme/widgets/hooks';

test('https gives the same answers with https links, and no Strict-Transport-Security for localhost', async () => {
  const alice = await api.tokens.user('auth0|alice', 'repo');
  const config = { url: 'https://example.com/hook', content_type: 'json' };
  const { status, body, headers } = await call(secure, alice, 'POST', hooks, { config, active: false });
  expect([status, body.url]).toEqual([201, `${secure.base}${hooks}/${body.id}`]);
  expect(headers.get('strict-transport-security')).toBeNull();
  const { body: plain } = await call(api, alice, 'GET', `${hooks}/${body.id}`);
  expect(plain.url).toBe(`${api.base}${hooks}/${body.id}`);
});

test('a token of another issuer is accepted only if ISSUER_ALIASES has exactly that issuer', async () => {
  const claims = { aud: audience, sub: 'auth0|alice', client_id: 'first-party', scope: 'repo', first_party: true };
  const statusWith = async (iss: string) =>
    (await call(secure, await api.issuer.sign({ ...claims, iss }), 'GET', hooks)).status;
  expect(await statusWith(alias)).toBe(200);
  expect(await statusWith(alias.slice(0, -1))).toBe(401);
  expect(await statusWith('https://elsewhere.example/')).toBe(401);
});
