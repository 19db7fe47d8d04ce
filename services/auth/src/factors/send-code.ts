/** Sends a second-factor code by mail or text message, within the limits for codes. */
import type { MessageLimits } from '../accounts/message-limits.ts';
import { codeTtlSeconds, type OneTimeCodes } from '../accounts/one-time-code.ts';
import type { Rate } from '../accounts/rate.ts';
import type { Background } from '../background.ts';
import type { AccountModel } from '../generated/models.ts';
import { networkOf } from '../http/network.ts';
import type { Languages } from '../mail/language.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';
import { busy } from '../stores-away.ts';
import { factorCodeRequest } from './proof.ts';

export type SendFactorCode = (given: {
  account: AccountModel;
  to: { type: 'email' | 'phone'; target: string };
  /** The asker has typed where it goes: it may be anybody's. */
  isTyped?: boolean;
  /** Where the code may be typed. */
  binding: string;
  ip: string;
  clientId: string;
  languages: Languages;
}) => Promise<'sent' | 'too_many'>;

/** Per account, wherever they are sent: text messages cost money. */
const perAccount = { max: 20, windowSeconds: 3_600 };

/** Per asking network, to wherever it likes: it may have many accounts. */
const perAsker = { max: 100, windowSeconds: 3_600 };

export function makeSendFactorCode(parts: {
  factorCodes: Pick<OneTimeCodes, 'make'>;
  rate: Rate;
  messageLimits: MessageLimits;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail' | 'text'>;
}): SendFactorCode {
  const { factorCodes, rate, messageLimits, letters, postBox, background } = parts;
  return async ({ account, to, isTyped = false, binding, ip, clientId, languages }) => {
    const { userId } = account;
    const network = networkOf(ip);
    if (isTyped && !(await rate.take('factor-codes-by', network, perAsker.max, perAsker.windowSeconds)))
      return 'too_many';
    if (!(await rate.take('factor-codes', userId, perAccount.max, perAccount.windowSeconds))) return 'too_many';
    const ownNetwork = account.lastIp ? networkOf(account.lastIp) : undefined;
    if (!(await messageLimits.take({ kind: 'login', recipient: to.target, network, ownNetwork }))) return 'too_many';
    const code = await factorCodes.make(factorCodeRequest(userId, to, binding));
    const about = { account, clientId, languages, code, ttlSeconds: codeTtlSeconds };
    const send = async () => {
      if (to.type === 'phone') await postBox.sendText({ to: to.target, text: await letters.writeText(about) });
      else
        await postBox.sendMail({
          to: to.target,
          ...(await letters.write({
            name: 'auth_email_by_code',
            connection: account.connection,
            email: to.target,
            ...about,
          })),
        });
    };
    if (!background[to.type === 'phone' ? 'text' : 'mail'].add('a message', send)) throw busy();
    return 'sent';
  };
}
