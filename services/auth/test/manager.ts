/** The client `manager`, as which tests ask the management API. */
import type { TestGate } from './gate.ts';

/** Its entry in a seed. */
export const managerSeed = (scope: string[]) => ({
  client_id: 'manager',
  client_secret: 'manager-secret',
  grant_types: ['client_credentials'],
  client_grants: [{ audience: 'api/v2/', scope }],
});

export async function managerToken({ issuer, post }: TestGate): Promise<string> {
  const { client_id, client_secret } = managerSeed([]);
  const form = { grant_type: 'client_credentials', client_id, client_secret, audience: `${issuer}api/v2/` };
  return (await post('oauth/token', form)).json.access_token as string;
}

/** Asks the management API, with a token that is asked for once. */
export async function openManager(gate: TestGate) {
  const token = await managerToken(gate);
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${gate.issuer}api/v2/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text ? JSON.parse(text) : {} };
  };
}
