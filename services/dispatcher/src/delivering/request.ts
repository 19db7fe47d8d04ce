/** The request of a delivery (docs/reference/delivery.md). */
import { deliveryHeaders } from '@gatepost/contracts/delivery';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Hook } from '../hook.ts';
import { formBody } from './form-body.ts';
import { type SigningKeys, sign } from './sign.ts';

export type DeliveryRequest = {
  accountId: number;
  target: URL;
  insecureSsl: boolean;
  /** Spelled as GitHub spells them, on the wire and in the log. */
  headers: Record<string, string>;
  /** The same for the log, with the values of custom headers and credentials masked. */
  loggedHeaders: Record<string, string>;
  body: Buffer;
};

const mask = '********';

/** The payload's bytes are sent untouched, or form-encoded as `payload=…`; signatures cover the bytes sent. */
export async function buildRequest(
  job: DeliveryJob,
  hook: Hook,
  payload: Buffer,
  userAgent: string,
  traceparent?: string,
): Promise<DeliveryRequest> {
  const body = hook.contentType === 'json' ? payload : await formBody(payload);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers: Record<string, string> = {
    Accept: '*/*',
    'Content-Type': hook.contentType === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    'User-Agent': userAgent,
    [deliveryHeaders.delivery]: job.guid,
    [deliveryHeaders.event]: job.event,
    [deliveryHeaders.hookId]: String(hook.id),
    [deliveryHeaders.targetId]: String(hook.repositoryId ?? hook.accountId),
    [deliveryHeaders.targetType]: hook.repositoryId === null ? 'organization' : 'repository',
    [deliveryHeaders.webhookId]: job.guid,
    [deliveryHeaders.webhookTimestamp]: timestamp,
  };
  if (hook.keys) {
    const signatures = await sign(hook.keys, body, job.guid, timestamp, previousKeys(hook));
    headers[deliveryHeaders.signature] = signatures.sha1;
    headers[deliveryHeaders.signature256] = signatures.sha256;
    if (signatures.standard) headers[deliveryHeaders.webhookSignature] = signatures.standard;
  }
  if (job.sequence !== undefined && !hasOwn(hook, deliveryHeaders.sequence))
    headers[deliveryHeaders.sequence] = String(job.sequence);
  if (traceparent !== undefined && !hasOwn(hook, deliveryHeaders.traceparent))
    headers[deliveryHeaders.traceparent] = traceparent;
  let loggedHeaders = headers;
  for (const [name, value] of Object.entries(secretHeaders(hook))) {
    if (loggedHeaders === headers) loggedHeaders = { ...headers };
    headers[name] = value;
    loggedHeaders[name] = mask;
  }
  const { accountId, target, insecureSsl } = hook;
  return { accountId, target, insecureSsl, headers, loggedHeaders, body };
}

/** A hook's own custom header takes precedence. */
const hasOwn = ({ headers }: Hook, header: string): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === header.toLowerCase());

function previousKeys({ previousKeys: keys }: Hook): SigningKeys | null {
  return keys && keys.untilMs > Date.now() ? keys : null;
}

/** The custom headers, plus the URL's credentials unless `Authorization` is one of those headers. */
function secretHeaders(hook: Hook): Readonly<Record<string, string>> {
  const { headers, authorization } = hook;
  if (authorization === null || hasOwn(hook, 'Authorization')) return headers;
  return { Authorization: authorization, ...headers };
}
