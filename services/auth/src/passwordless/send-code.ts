/** Sends somebody a one-time code by mail or text message. */
import type { CodeRequest, OneTimeCodes } from '../accounts/one-time-code.ts';
import type { Channel, SendMessage } from './message.ts';

export type SendCode = (request: CodeRequest & { channel: Channel; ip: string }) => Promise<'sent' | 'too_many'>;

export function makeSendCode(parts: { codes: OneTimeCodes; sendMessage: SendMessage }): SendCode {
  return ({ channel, ip, ...asked }) =>
    parts.sendMessage({
      channel,
      connection: asked.connection,
      recipient: asked.recipient,
      ip,
      async compose(name) {
        const code = await parts.codes.make(asked);
        const text = `Your ${name} code is ${code}. It is good for three minutes. If you did not ask for it, ignore this message.`;
        return { subject: `Your ${name} code`, text };
      },
    });
}
