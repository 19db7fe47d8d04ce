/**
 * Proves a second factor, for the pages and for Auth0’s MFA API alike. Wrong tries count for the account, whatever connection, session
 * or application they come through: ten in a quarter of an hour and fifty a day. Three of a million codes are valid at any time, so
 * somebody with the password guesses one with a probability of 0.00015 a day. A right code clears the person's failures. A stranger
 * can use up the tries only with the password, and even then a security key still works.
 */
import type { CodeRequest, OneTimeCodes } from '../accounts/one-time-code.ts';
import type { Rate } from '../accounts/rate.ts';
import type { FactorStore, Method } from './store.ts';
import { stepOf } from './totp.ts';

export type Proof =
  | { kind: 'right'; amr: string[]; method?: Method }
  /** `used`: the right code, but already used. `expired`: no code was sent there, or it is too old. */
  | { kind: 'wrong' | 'used' | 'expired' }
  | { kind: 'locked'; seconds: number };

export type ProveFactor = {
  totp(userId: string, methods: Method[], code: string): Promise<Proof>;
  /** A code that was sent to `target`, to be typed where `binding` says. */
  sent(userId: string, sent: Pick<Method, 'type' | 'target'>, binding: string, code: string): Promise<Proof>;
  recoveryCode(userId: string, code: string): Promise<Proof>;
  /** Bounds any other kind of try: runs `check`, and counts a failure. */
  bounded(userId: string, check: () => Promise<Proof>): Promise<Proof>;
};

const tries = [
  { what: 'factor-tries', max: 10, windowSeconds: 900 },
  { what: 'factor-tries-a-day', max: 50, windowSeconds: 86_400 },
] as const;

export function makeProve(parts: {
  factors: FactorStore;
  factorCodes: Pick<OneTimeCodes, 'check'>;
  rate: Rate;
}): ProveFactor {
  const { factors, factorCodes, rate } = parts;

  const bounded: ProveFactor['bounded'] = async (userId, check) => {
    // Counted first, so that parallel guesses get no more tries than serial ones.
    for (const { what, max, windowSeconds } of tries)
      if (!(await rate.take(what, userId, max, windowSeconds))) return { kind: 'locked', seconds: windowSeconds };
    const proof = await check();
    if (proof.kind === 'right')
      for (const [index, { what, max, windowSeconds }] of tries.entries())
        await rate.giveBack(what, userId, max, windowSeconds, index === 0);
    return proof;
  };

  return {
    bounded,
    totp: (userId, methods, code) =>
      bounded(userId, async () => {
        for (const method of methods) {
          const step = method.type === 'totp' ? stepOf(factors.totpSecret(method), code) : undefined;
          if (step === undefined) continue;
          return (await factors.takeStep(method, step))
            ? { kind: 'right', amr: ['otp', 'mfa'], method }
            : { kind: 'used' };
        }
        return { kind: 'wrong' };
      }),
    sent: (userId, sent, binding, code) =>
      bounded(userId, async () => {
        const answer = await factorCodes.check(factorCodeRequest(userId, sent, binding), code);
        if (answer !== 'right') return { kind: answer };
        return { kind: 'right', amr: sent.type === 'phone' ? ['sms', 'mfa'] : ['otp', 'mfa'] };
      }),
    recoveryCode: (userId, code) =>
      bounded(userId, async () =>
        (await factors.spendRecoveryCode(userId, code)) ? { kind: 'right', amr: ['otp', 'mfa'] } : { kind: 'wrong' },
      ),
  };
}

/** Whose code it is, and where it may be typed: another account with the same address gets its own codes. */
export function factorCodeRequest(
  userId: string,
  { type, target }: Pick<Method, 'type' | 'target'>,
  binding: string,
): CodeRequest {
  return { connection: `second factor ${type}`, recipient: JSON.stringify([userId, target]), binding };
}
