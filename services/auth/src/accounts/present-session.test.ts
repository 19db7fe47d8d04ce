/** How somebody signed in, by Auth0's names, from the `amr` of the ways that the gate has. */
import { expect, test } from '@jest/globals';
import { methodNames } from './present-session.ts';

test.each([
  ['a password', ['pwd'], ['pwd']],
  ['a mailed code', ['otp'], ['email']],
  ['a code by text message', ['sms'], ['sms']],
  ['another provider', ['fed'], ['federated']],
  ['a passkey, which counts for both', ['hwk', 'user', 'mfa'], ['passkey', 'mfa']],
  ['a password and an app', ['pwd', 'otp', 'mfa'], ['pwd', 'mfa']],
  ['a password and a security key', ['pwd', 'hwk', 'mfa'], ['pwd', 'mfa']],
  ['a password and a code by text message', ['pwd', 'sms', 'mfa'], ['pwd', 'mfa']],
  ['a mailed code and an app', ['otp', 'mfa'], ['email', 'mfa']],
  ['a code by text message and another one', ['sms', 'mfa'], ['sms', 'mfa']],
  ['another provider and a device', ['fed', 'hwk', 'user', 'mfa'], ['federated', 'mfa']],
  ['a grant plug-in', ['legacy'], ['legacy']],
  ['nothing known', undefined, []],
])('a sign-in by %s is named', (_, amr, names) => {
  expect(methodNames(amr)).toEqual(names);
});
