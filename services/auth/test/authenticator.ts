/** People with an authenticator app on the hosted pages: what a page shows them, and what they type. */
import type { Page } from '@gatepost/testkit/browser';
import { expect } from '@jest/globals';
import { decodeJwt } from 'jose';
import { TOTP } from 'otpauth';
import type { TestGate } from './gate.ts';
import { alice } from './seeds.ts';

export const multiFactor = 'http://schemas.openid.net/pape/policies/2007/06/multi-factor';

/** Somebody with a telephone number of their own; `number` has two digits. */
export const person = (name: string, number: number) => ({
  ...alice,
  user_id: `auth0|${name}`,
  email: `${name}@example.com`,
  nickname: name,
  phone_number: `+155555503${String(number).padStart(2, '0')}`,
});

/** An application that switches factors on and off. */
export const administrator = (issuer: string) => ({
  client_id: 'administrator',
  client_secret: 'administrator-secret',
  grant_types: ['client_credentials'],
  client_grants: [{ audience: `${issuer}api/v2/`, scope: ['update:guardian_factors'] }],
});

/** Does something while these factors are switched off. */
export async function whileOff<T>(gate: TestGate, names: string[], work: () => Promise<T>): Promise<T> {
  for (const name of names) await switchFactor(gate, name, false);
  try {
    return await work();
  } finally {
    for (const name of names) await switchFactor(gate, name, true);
  }
}

async function switchFactor({ issuer, post }: TestGate, name: string, enabled: boolean): Promise<void> {
  const { client_id, client_secret, client_grants } = administrator(issuer);
  const { audience } = client_grants[0]!;
  const { json } = await post('oauth/token', { grant_type: 'client_credentials', client_id, client_secret, audience });
  const { status } = await fetch(`${audience}guardian/factors/${name}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${String(json.access_token)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ enabled }),
  });
  expect(status).toBe(200);
}

/** Answered by an ID token in the address. */
export const claimsOf = ({ location }: Page) =>
  decodeJwt(new URLSearchParams(location?.hash.slice(1)).get('id_token') ?? '');

/** What the app is told by the page that sets it up. */
export const secretIn = ({ html }: Page) => /<code>([A-Z2-7 ]{32,})<\/code>/.exec(html)![1]!.replaceAll(' ', '');

export const recoveryCodesIn = ({ html }: Page) =>
  [...html.matchAll(/<code>((?:[0-9A-Z]{4}-){3}[0-9A-Z]{4})<\/code>/g)].map(([, code]) => code!);

/** Of the next step, or `step` before or after it: it goes on being taken should the present one end meanwhile. */
export const codeOf = (secret: string, step = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + (step + 1) * 30_000 });
