/**
 * Refresh tokens that several tabs use at once. Within a client’s leeway a token that was just rotated may be used again, and all
 * uses get the same successor. After the leeway, or one generation later, its family is revoked (as the library does for any
 * consumed token). With a leeway, the successor’s value is an HMAC of its predecessor’s under a key derived from SECRETS_KEY, so
 * that it can be issued twice although only hashes are stored. While SECRETS_KEY changes, gates differ in that key: the successor
 * that another has made is found by the other key. Without a leeway it is random.
 */
import { createHmac } from 'node:crypto';
import Provider, { type Client, errors, type Provider as ProviderType } from 'oidc-provider';
import { consumeWithSuccessor } from '../../adapter/prefetched.ts';
import type { OwnMetadata } from '../../clients/metadata.ts';

type RefreshToken = {
  jti: string;
  nonce?: string | undefined;
  consumed?: number | undefined;
  consume(): Promise<void>;
};
/** The parts of the library's model that we change; the typings give its `find` no methods of the token, and no prototype. */
type Model = {
  find(value: string, options?: object): Promise<RefreshToken | undefined>;
  prototype: { generateTokenId(): string };
};

/** @param keys the first is for new successors */
export function shareRefreshSuccessors(provider: ProviderType, keys: readonly Buffer[]): void {
  // The members set here are missing in the typings.
  const model = provider.RefreshToken as unknown as Model;
  const { find } = model;
  const { generateTokenId } = model.prototype;
  const successorsOf = (jti: string) => keys.map((key) => createHmac('sha256', key).update(jti).digest('base64url'));
  const made = new WeakMap<RefreshToken, string>();

  model.prototype.generateTokenId = function () {
    const rotated = Provider.ctx?.oidc?.entities.RotatedRefreshToken as RefreshToken | undefined;
    if (!rotated || leewaySeconds() === 0) return generateTokenId.call(this);
    return made.get(rotated) ?? successorsOf(rotated.jti)[0]!;
  };

  model.find = async function (value, options) {
    const token = await find.call(this, value, options);
    // The nonce belongs to the ID token of the login, not to later ones (OpenID Connect Core 12.2); Auth0’s SDK refuses it there.
    if (token) token.nonce = undefined;
    const leeway = leewaySeconds();
    if (!token) return token;
    if (leeway === 0) {
      if (isRefresh()) consumeWithSuccessor();
      return token;
    }
    if (token.consumed !== undefined && Date.now() / 1000 - token.consumed <= leeway) {
      // A successor that is in use means that this token is two generations old. A missing one is being written right now.
      const found = await Promise.all(successorsOf(token.jti).map((one) => find.call(this, one, options)));
      const successors = found.filter((one) => one !== undefined);
      if (successors[0]) made.set(token, successors[0].jti);
      if (!successors.some(({ consumed }) => consumed)) token.consumed = undefined;
    }
    const consume = token.consume.bind(token);
    const consumeOrFollow = async () => {
      try {
        await consume();
      } catch (error) {
        if (!(error instanceof errors.InvalidGrant)) throw error;
        // Another tab was faster by less than the leeway: this one gets the same successor.
      }
    };
    token.consume = consumeOrFollow; // not assigned as it is written: see docs/decisions/0005-libraries.md
    return token;
  };
}

/** For the current refresh request; 0 outside of a refresh. */
function leewaySeconds(): number {
  if (!isRefresh()) return 0;
  return (Provider.ctx?.oidc.client as (Client & OwnMetadata) | undefined)?.refresh_token?.leeway ?? 0;
}

function isRefresh(): boolean {
  const oidc = Provider.ctx?.oidc;
  return oidc?.route === 'token' && oidc.params?.grant_type === 'refresh_token';
}
