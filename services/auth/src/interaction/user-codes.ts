/**
 * Limits guesses at device codes (RFC 8628 section 5.1): after ten wrong ones in ten minutes from one network or one session, 429. A
 * code has eight of twenty letters: with a thousand devices waiting at once, a network hits one of them with a probability of
 * 10 x 1000 / 20^8, four in ten million, every ten minutes. A right code does not reset the count, since an attacker has a device
 * too.
 *
 * A confirmed code stays taken until it expires, even if the login was not finished: if it were released, two people could finish
 * it, and the second one’s account would end up on the first one’s device. Only a fault of ours, which ends the login, releases it. Of
 * several people who confirm it at once, one takes it (adapter/redis.ts).
 */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Attempt, Lockout } from '../accounts/lockout.ts';
import { addressOf } from '../http/head.ts';
import { networkOf } from '../http/network.ts';
import { wrapRequests } from '../library/middleware.ts';
import { busySeconds } from '../stores-away.ts';
import { deviceOwner, isRefused, turnToDevicePage } from './device-pages.ts';
import type { PageMemory } from './page-memory.ts';

/** As the library’s router matches it: case-insensitive, with or without a trailing slash. */
const isPath = /^\/activate\/?$/i;

export function guardUserCodes(provider: Provider, lockout: Lockout, pageMemory: PageMemory): void {
  const isUserCode = (ctx: KoaContextWithOIDC) => ctx.method === 'POST' && isPath.test(ctx.path);
  wrapRequests(provider, isUserCode, async (ctx, next) => {
    // Without a session the form is shown again (app.ts), so a session exists here.
    const { uid } = (await provider.Session.get(ctx)) as { uid?: string };
    const network = await lockout.begin('user codes', networkOf(addressOf(ctx.req)));
    const session = await lockout.begin('user codes of a session', uid ?? '');
    const attempts = [network, session];
    const refused = attempts.find(({ kind }) => kind !== 'open');
    let isWrong = false;
    try {
      if (refused) return await refuse(ctx, refused, pageMemory, uid ?? '');
      await next();
      isWrong = isRefused(ctx);
      if (isWrong) await endAll(attempts, 'failed');
    } finally {
      if (!isWrong) await endAll(attempts, 'takenBack');
    }
  });
}

async function endAll(attempts: Attempt[], how: 'failed' | 'takenBack'): Promise<void> {
  await Promise.all(attempts.map((attempt) => attempt.kind === 'open' && attempt[how]()));
}

async function refuse(ctx: KoaContextWithOIDC, refused: Attempt, memory: PageMemory, uid: string): Promise<void> {
  const seconds = refused.kind === 'closed' ? refused.seconds : busySeconds;
  await memory.note(deviceOwner(uid), { pause: { until: Date.now() + seconds * 1000 } });
  turnToDevicePage(ctx, 'wait');
}
