/** Sends somebody a one-time code by mail or text message. */
import { type CodeRequest, codeTtlSeconds, type OneTimeCodes } from '../accounts/one-time-code.ts';
import type { MessageTarget, SendMessage } from './message.ts';

export type SendCode = (request: CodeRequest & MessageTarget) => Promise<'sent' | 'too_many'>;

export function makeSendCode(parts: { codes: OneTimeCodes; sendMessage: SendMessage }): SendCode {
  return (asked) => {
    const { connection, recipient, binding } = asked;
    return parts.sendMessage({
      ...asked,
      compose: async () => ({
        name: 'auth_email_by_code',
        code: await parts.codes.make({ connection, recipient, binding }),
        ttlSeconds: codeTtlSeconds,
      }),
    });
  };
}
