/** Clients' failed authentications bounded (clients/throttle.ts), which the library only refuses. */
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { ClientThrottle } from '../clients/throttle.ts';
import { addressOf } from '../http/head.ts';
import { checkClientSecrets } from './seam.ts';

/** Refuses what comes from a closed pair, whether the secret is right or not, and counts what fails, whatever it failed by. */
export function throttleClientAuthentication(provider: Provider, throttle: ClientThrottle): void {
  checkClientSecrets(provider, (ctx, clientId, isRight) => {
    const address = addressOf(ctx.req);
    const seconds = throttle.closedFor(clientId, address);
    if (seconds !== undefined) throw new TooManyFailures(ctx, seconds);
    if (isRight) throttle.succeeded(clientId, address);
  });
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    if (ctx.status !== 401 || (ctx.body as { error?: string } | undefined)?.error !== 'invalid_client') return;
    const seconds = await throttle.failed(presentedId(ctx), addressOf(ctx.req));
    if (seconds === undefined) return;
    const { status, error, error_description } = new TooManyFailures(ctx, seconds);
    ctx.remove('www-authenticate');
    ctx.status = status;
    ctx.body = { error, error_description };
  });
}

class TooManyFailures extends errors.OIDCProviderError {
  constructor(ctx: KoaContextWithOIDC, seconds: number) {
    super(429, 'too_many_attempts');
    this.error_description = 'Client authentication has failed too often from this address. Try again later.';
    ctx.set('retry-after', String(seconds));
  }
}

/** The client that somebody claims to be; one that does not exist is counted like any other, and so looks like one. */
function presentedId(ctx: KoaContextWithOIDC): string {
  const known = ctx.oidc.client?.clientId ?? (ctx.oidc.params as { client_id?: string } | undefined)?.client_id;
  if (known !== undefined) return known;
  const [, basic = ''] = /^Basic (.+)$/i.exec(ctx.get('authorization')) ?? [];
  return Buffer.from(basic, 'base64').toString().split(':', 1)[0] ?? '';
}
