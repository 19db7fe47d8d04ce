/** Somebody's secrets, planted where an answer might let them out. None of them is ever sent by the requests that look for them. */
import { Browser } from '@gatepost/testkit/browser';
import { managementApi } from '../../../src/resources/management-api.ts';
import { linkIn } from '../../gate.ts';
import { alice, spa, web } from '../../seeds.ts';
import { callback, type Target } from '../target.ts';

const password = 'canary-password-of-a-person';
export const canaries = {
  clients: (issuer: string) => [
    // Whoever may do everything but read what clients authenticate by.
    {
      client_id: 'operator',
      client_secret: 'operator-secret',
      grant_types: ['client_credentials'],
      client_grants: [{ audience: `${issuer}api/v2/`, scope: operatorScopes(issuer) }],
    },
    { ...web, client_id: 'canary', client_secret: 'canary-client-secret-in-the-clear' },
    { ...spa, client_id: 'canary-app' },
  ],
  users: [
    {
      ...alice,
      user_id: 'auth0|canary',
      email: 'canary@example.com',
      nickname: 'canary',
      phone_number: '+15555550177',
      password,
    },
  ],
};

function operatorScopes(issuer: string): string[] {
  return managementApi(issuer)
    .scopes.map(({ value }) => value)
    .filter((scope) => scope !== 'read:client_keys');
}

export async function plantSecrets({ gate, issuer, codeFor, redeem }: Target): Promise<Record<string, string>> {
  const browser = new Browser(gate);
  const first = await browser.logIn(
    await browser.authorize({ client_id: 'canary', redirect_uri: callback, response_type: 'code', scope: 'openid' }),
    'canary@example.com',
    password,
  );
  const tokens = (await redeem('canary-app', await codeFor('canary-app', {}, browser))).json as Record<string, string>;
  const { code } = await codeFor('canary-app', {}, browser);
  await gate.post('dbconnections/change_password', { client_id: 'web', email: 'canary@example.com' });
  const ticket = new URL(linkIn(await gate.mailTo('canary@example.com'))).searchParams.get('ticket')!;
  const value = async (sql: string) => String(Object.values((await gate.pool.query(sql)).rows[0])[0]);
  const stored = {
    'the hash of a client secret': await value(`SELECT secret_hashes[1] FROM auth.clients WHERE client_id = 'canary'`),
    'the hash of a password': await value(`SELECT password_hash FROM auth.accounts WHERE user_id = 'auth0|canary'`),
  };
  const session = [...browser.cookies].find(([name]) => name.startsWith('_session '))![1].value;
  const secrets: Record<string, string> = {
    'a client secret': 'canary-client-secret-in-the-clear',
    'a password': password,
    'a code': first.location!.searchParams.get('code')!,
    'another code': code,
    'an access token': tokens.access_token!,
    'a refresh token': tokens.refresh_token!,
    'an ID token': tokens.id_token!,
    'a session': session,
    'a ticket for a new password': ticket,
    'the key of the secrets': gate.env.SECRETS_KEY!,
    'the database': gate.databaseUrl,
    ...stored,
  };
  for (const [name, secret] of Object.entries(secrets))
    if (!(secret?.length > 15)) throw new Error(`${name} was not planted at ${issuer}: ${secret}`);
  return secrets;
}
