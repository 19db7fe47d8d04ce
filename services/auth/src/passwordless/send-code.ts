/** Sends somebody a one-time code by mail or text message. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { CodePlace, OneTimeCodes } from '../accounts/one-time-code.ts';
import type { Rate } from '../accounts/rate.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { PostBox } from '../mail/post-box.ts';
import type { SettingsStore } from '../settings/store.ts';
import { asking } from '../stores-away.ts';

export type Channel = 'email' | 'sms';

export type SendCode = (request: CodePlace & { channel: Channel; ip: string }) => Promise<'sent' | 'too_many'>;

// Per address that is written to, and per address that asks: what a stranger may cause.
const perRecipient = { max: 50, windowSeconds: 3_600 };
const perAsker = { max: 100, windowSeconds: 3_600 };

/**
 * A code goes to whom it can log in: a known account, or anybody while sign-up is open. Others hear nothing, and whoever asked
 * cannot tell: the answer is the same, and nobody waits for the message to leave.
 */
export function makeSendCode(parts: {
  accounts: AccountStore;
  codes: OneTimeCodes;
  rate: Rate;
  settings: SettingsStore;
  postBox: PostBox;
  log: Log;
}): SendCode {
  return async ({ channel, ip, ...place }) => {
    const [recipient, asker] = await Promise.all([
      parts.rate.take('codes-to', place.address, perRecipient.max, perRecipient.windowSeconds),
      parts.rate.take('codes-by', ip, perAsker.max, perAsker.windowSeconds),
    ]);
    if (!recipient || !asker) return 'too_many';
    const [code, known, settings] = await Promise.all([
      parts.codes.make(place),
      parts.accounts.findVerified(channel, place.address),
      asking(parts.settings.load()),
    ]);
    if (known ? known.blocked : !settings.allowSignup) return 'sent';
    const name = settings.friendlyName ?? 'Gatepost';
    const text = `Your ${name} code is ${code}. It is good for three minutes. If you did not ask for it, ignore this message.`;
    const sending =
      channel === 'email'
        ? parts.postBox.sendMail({ to: place.address, subject: `Your ${name} code`, text })
        : parts.postBox.sendText({ to: place.address, text });
    sending.catch((error) =>
      parts.log.error({ error: describeError(error), channel }, 'could not send a one-time code'),
    );
    return 'sent';
  };
}
