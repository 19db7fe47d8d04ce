/** Limits failed client authentications (clients/throttle.ts); the library refuses each one but never counts them. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ClientThrottle } from '../clients/throttle.ts';
import { addressOf } from '../http/head.ts';
import { RetryLater } from '../stores-away.ts';
import { changeAnswers } from './middleware.ts';
import { checkClientSecrets } from './seam.ts';

/** Refuses requests from a closed pair, even with the right secret, and counts every failure, whatever its cause. */
export function throttleClientAuthentication(provider: Provider, throttle: ClientThrottle): void {
  checkClientSecrets(provider, (ctx, clientId, isRight) => {
    const address = addressOf(ctx.req);
    const seconds = throttle.closedFor(clientId, address);
    if (seconds !== undefined) throw tooManyFailures(seconds).withHeader(ctx);
    if (isRight) throttle.succeeded(clientId, address);
  });
  const count = async (ctx: KoaContextWithOIDC) => {
    const seconds = await throttle.failed(presentedId(ctx), addressOf(ctx.req));
    if (seconds === undefined) return;
    const { status, error, error_description } = tooManyFailures(seconds).withHeader(ctx);
    ctx.remove('www-authenticate');
    ctx.status = status;
    ctx.body = { error, error_description };
  };
  const hasFailed = (ctx: KoaContextWithOIDC) =>
    ctx.status === 401 && (ctx.body as { error?: string } | undefined)?.error === 'invalid_client';
  changeAnswers(provider, 'all', (ctx) => (hasFailed(ctx) ? count(ctx) : undefined));
}

const tooManyFailures = (retryAfterSeconds: number) =>
  new RetryLater(
    429,
    'too_many_attempts',
    'Client authentication has failed too often from this address. Try again later.',
    { retryAfterSeconds },
  );

/** The client that the request claims to be. An unknown client is counted like any other, which makes the two indistinguishable. */
function presentedId(ctx: KoaContextWithOIDC): string {
  const known = ctx.oidc.client?.clientId ?? (ctx.oidc.params as { client_id?: string } | undefined)?.client_id;
  if (known !== undefined) return known;
  const [, basic = ''] = /^Basic (.+)$/i.exec(ctx.get('authorization')) ?? [];
  return Buffer.from(basic, 'base64').toString().split(':', 1)[0] ?? '';
}
