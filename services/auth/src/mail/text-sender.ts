/**
 * Text messages through an HTTP provider: one that accepts the form of Twilio’s Messages resource (To, From, Body; Basic credentials), or
 * a custom webhook that accepts JSON. A message not accepted in time is sent again, so it may arrive twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { decoded } from '@gatepost/runtime/urls';
import type { TextMessage, TextProvider } from './post-box.ts';

export type TextFormat = 'twilio' | 'json';

const triesMax = 3;
const timeoutMs = 10_000;

/**
 * @param url including the credentials, which are sent as a header and appear in no error
 * @param ask connects only to public addresses and to those explicitly allowed
 */
export function makeTextSender(options: {
  url: string;
  from: string | undefined;
  format: TextFormat;
  ask: (url: URL, init: RequestInit) => Promise<Response>;
  pauseMs?: number;
}): TextProvider {
  const { from = '', format, ask, pauseMs = 1_000 } = options;
  const url = new URL(options.url);
  const authorization = basicOf(url);
  [url.username, url.password] = ['', ''];
  const headers = {
    ...(authorization && { authorization }),
    'content-type': format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
  };
  const bodyOf = ({ to, text }: TextMessage) =>
    format === 'json' ? JSON.stringify({ to, text }) : String(new URLSearchParams({ To: to, From: from, Body: text }));

  return async (message) => {
    const body = bodyOf(message);
    for (let tries = 1; ; tries += 1) {
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = await ask(url, { method: 'POST', headers, body, signal }).then(
        ({ status }) => ({ status }),
        (error: unknown) => ({ error }),
      );
      if ('status' in answer && answer.status >= 200 && answer.status < 300) return;
      const mayHelp = 'error' in answer ? !isRefused(answer.error) : answer.status === 429 || answer.status >= 500;
      if (!mayHelp || tries >= triesMax) throw notAccepted(answer);
      await sleep(pauseMs * tries);
    }
  };
}

/** A forbidden address: trying again would not help. */
const isRefused = (error: unknown) => (error as { code?: unknown }).code === 'EBLOCKED';

/** The error says itself that the caller should not retry. */
function notAccepted(answer: { status: number } | { error: unknown }): Error {
  const provider = 'the provider of text messages (SMS_URL)';
  const error =
    'error' in answer
      ? new Error(`${provider} could not be reached`, { cause: answer.error })
      : new Error(`${provider} answered ${answer.status}`);
  return Object.assign(error, { trouble: 'other' });
}

function basicOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const credentials = `${decoded(username)}:${decoded(password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
