/** A request of the checks: a delivery as Gatepost sends it, or what others might send. */
import { createHmac, randomUUID } from 'node:crypto';
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';

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

/** Sends to one receiver. Never rejects: no answer is a result too. */
export function openSend(url: URL, hookSecret: string, timeoutMs: number, interrupted?: AbortSignal): Send {
  return (delivery) =>
    new Promise((resolve) => {
      const { method = 'POST', body } = delivery;
      const hasBody = method === 'POST';
      const headers = hasBody ? { ...headersOf(delivery, hookSecret), 'Content-Length': body.length } : {};
      const late = AbortSignal.timeout(timeoutMs);
      const signal = interrupted ? AbortSignal.any([interrupted, late]) : late;
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
      else void write(request, delivery).catch(fail);
    });
}

async function write(
  request: ClientRequest,
  { body, parts = { count: 1, pauseMs: 0 }, halfway, breaksOff }: Delivery,
): Promise<void> {
  if (halfway || breaksOff) {
    const half = body.length >> 1;
    await new Promise((resolve) => request.write(body.subarray(0, half), resolve));
    await halfway?.();
    if (breaksOff) return void request.destroy();
    request.end(body.subarray(half));
    return;
  }
  const length = Math.ceil(body.length / parts.count);
  for (let start = 0; start < body.length; start += length) {
    if (start > 0) await wait(parts.pauseMs);
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
    ...(secret !== null && signatures(secret, hookSecret, signed, `${guid}.${time}.`, only)),
  };
}

/** Signs like the dispatcher: GitHub's two, plus Standard Webhooks' if the hook's secret is in its format. */
function signatures(secret: string, hookSecret: string, signed: Buffer, prefix: string, only: Delivery['only']) {
  const hmac = (algorithm: string) => `${algorithm}=${createHmac(algorithm, secret).update(signed).digest('hex')}`;
  if (only === 'sha1') return { 'X-Hub-Signature': hmac('sha1') };
  const github = { 'X-Hub-Signature': hmac('sha1'), 'X-Hub-Signature-256': hmac('sha256') };
  if (!isStandard(hookSecret)) return github;
  const key = isStandard(secret) ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
  const standard = createHmac('sha256', key).update(prefix).update(signed).digest('base64');
  return { ...github, 'webhook-signature': `v1,${standard}` };
}

export function isStandard(secret: string): boolean {
  return /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret);
}
