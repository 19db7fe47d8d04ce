import { expect, test } from '@jest/globals';
import type { AccountModel } from '../generated/models.ts';
import { makeSendFactorCode } from './send-code.ts';

// Each account had a limit, and nobody counted the accounts: whoever signed up often enough had text messages sent without end.
test('codes to numbers that people type are limited for their network, whatever their accounts, and those to known ones are not', async () => {
  const counts = new Map<string, number>();
  const sendCode = makeSendFactorCode({
    factorCodes: { make: async () => '123456' },
    rate: {
      async take(what: string, key: string, max: number) {
        const count = (counts.get(`${what} ${key}`) ?? 0) + 1;
        counts.set(`${what} ${key}`, count);
        return count <= max;
      },
      giveBack: async () => {},
    },
    messageLimits: { take: async () => true },
    background: { mail: { add: () => true }, text: { add: () => true } },
  } as unknown as Parameters<typeof makeSendFactorCode>[0]);
  let people = 0;
  const send = (ip: string, isTyped: boolean) => {
    people += 1;
    const account = { userId: `auth0|${people}`, lastIp: null } as AccountModel;
    const to = { type: 'phone' as const, target: `+1555${1_000_000 + people}` };
    return sendCode({ account, to, isTyped, binding: 'a page', ip, clientId: 'spa', languages: {} });
  };
  for (let asked = 0; asked < 100; asked += 1) expect(await send('192.0.2.1', true)).toBe('sent');
  expect(await send('192.0.2.1', true)).toBe('too_many');
  expect(await send('192.0.2.1', false)).toBe('sent');
  expect(await send('198.51.100.1', true)).toBe('sent');
});
