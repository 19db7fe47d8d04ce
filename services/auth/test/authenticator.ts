/** People with an authenticator app on the hosted pages: what a page shows them, and what they type. */
import type { Page } from '@gatepost/testkit/browser';
import { decodeJwt } from 'jose';
import { TOTP } from 'otpauth';
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
