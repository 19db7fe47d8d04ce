/** A request of the checks: a delivery as Gatepost sends it, or what others might send. */
import { randomUUID } from 'node:crypto';
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { signatures, standardKey } from '../sign.ts';

export type Delivery = {
  event: string;
  body: Buffer;
  guid?: string;
  type?: 'application/json' | 'application/x-www-form-urlencoded';
  /** The secret to sign with, if not the hook's; null: no signature. */
  secret?: string | null;
  /** The bytes to sign, if not the body. */
  signed?: Buffer;
  /** `sha1`: no other signature. `recorded`: all signatures, made an hour ago. */
  only?: 'sha1' | 'recorded';
  /** Sends the body in this many parts, so long apart (ms). */
  parts?: { count: number; pauseMs: number };
  /** Runs once half of the body is sent; the rest follows when it ends. */
  halfway?: () => Promise<unknown>;
  /** Closes the connection once half of the body is sent. */
  breaksOff?: boolean;
  method?: 'POST' | 'GET' | 'HEAD';
};

export type Answer = { status: number } | { error: string };
export type Send = (delivery: Delivery) => Promise<Answer>;

const recordedSeconds = 3600;

/** Sends to one receiver. Never rejects: no answer is a result too. What a delivery waits for on our side is not the receiver's time. */
export function openSend(url: URL, hookSecret: string, timeoutMs: number, interrupted?: AbortSignal): Send {
  return (delivery) =>
    new Promise((resolve) => {
      const { method = 'POST', body } = delivery;
      const hasBody = method === 'POST';
      const headers = hasBody ? { ...headersOf(delivery, hookSecret), 'Content-Length': body.length } : {};
      const late = new AbortController();
      const start = () => setTimeout(() => late.abort(), timeoutMs).unref();
      let timer = start();
      const pause: Pause = async (wait) => {
        clearTimeout(timer);
        await wait;
        timer = start();
      };
      const signal = interrupted ? AbortSignal.any([interrupted, late.signal]) : late.signal;
      const send = url.protocol === 'https:' ? requestHttps : requestHttp;
      const request = send(url, { method, headers, signal, agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode ?? 0 }));
        response.on('error', fail);
      });
      const fail = (error: NodeJS.ErrnoException) =>
        resolve({ error: signal.aborted ? `no answer within ${timeoutMs / 1000} s` : (error.code ?? error.message) });
      request.on('error', fail);
      if (!hasBody) request.end();
      else void write(request, delivery, pause).catch(fail);
    });
}

/** Waits, without counting it as the receiver's time. */
type Pause = (wait: Promise<unknown>) => Promise<void>;

async function write(
  request: ClientRequest,
  { body, parts = { count: 1, pauseMs: 0 }, halfway, breaksOff }: Delivery,
  pause: Pause,
): Promise<void> {
  if (halfway || breaksOff) {
    const half = body.length >> 1;
    await new Promise((resolve) => request.write(body.subarray(0, half), resolve));
    if (halfway) await pause(halfway());
    if (breaksOff) return void request.destroy();
    request.end(body.subarray(half));
    return;
  }
  const length = Math.ceil(body.length / parts.count);
  for (let start = 0; start < body.length; start += length) {
    if (start > 0) await pause(wait(parts.pauseMs));
    request.write(body.subarray(start, start + length));
  }
  request.end();
}

function headersOf(delivery: Delivery, hookSecret: string): Record<string, string> {
  const { event, body, guid = randomUUID(), type = 'application/json', only, signed = body } = delivery;
  const secret = delivery.secret === undefined ? hookSecret : delivery.secret;
  const age = only === 'recorded' ? recordedSeconds : 0;
  const time = String(Math.floor(Date.now() / 1000) - age);
  return {
    Accept: '*/*',
    'Content-Type': type,
    'User-Agent': 'GitHub-Hookshot/verify',
    'X-GitHub-Delivery': guid,
    'X-GitHub-Event': event,
    'X-GitHub-Hook-ID': '1',
    'X-GitHub-Hook-Installation-Target-ID': '1',
    'X-GitHub-Hook-Installation-Target-Type': 'repository',
    'webhook-id': guid,
    'webhook-timestamp': time,
    ...(secret !== null && sign(secret, hookSecret, signed, { id: guid, time }, only)),
  };
}

/** Also with a secret of another form than the hook's, as somebody who forges a delivery might. */
function sign(
  secret: string,
  hookSecret: string,
  signed: Buffer,
  at: { id: string; time: string },
  only: Delivery['only'],
) {
  const key = standardKey(hookSecret) && (standardKey(secret) ?? Buffer.from(secret));
  const { 'X-Hub-Signature': sha1, ...others } = signatures(secret, signed, at, key);
  return { 'X-Hub-Signature': sha1, ...(only === 'sha1' ? {} : others) };
}
