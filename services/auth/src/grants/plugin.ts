/**
 * A grant type that proves who a person is and gets tokens for that person. Built-in ones and those named by GRANT_PLUGINS have the
 * same shape. When they run, oidc-provider has already authenticated the client and checked its grant types.
 */
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

export type Subject = {
  accountId: string;
  /** RFC 8176 values, e.g. `pwd`, `otp`. */
  amr?: string[];
  /** OpenID Connect Core 2; only where it is more than a single factor. */
  acr?: string;
  /** When the person logged in, in epoch seconds; now otherwise. */
  authTime?: number;
  /** The person’s network address, if this is a login of theirs, which is then counted. */
  loggedInFrom?: string;
};

export type GrantPlugin = {
  /** `grant_type` of the token request: an absolute URI, or a name of RFC 6749. */
  grantType: string;
  /** Names of the request’s own parameters; all others except `scope`, `audience` and `resource` are dropped. */
  parameters: readonly string[];
  /** Fills in `scope`, `audience` and `resource` from the earlier request that this one continues; runs before they are read. */
  prepare?(ctx: KoaContextWithOIDC, client: Client): Promise<void>;
  /**
   * Proves who the subject is. Runs last, after all cheaper checks.
   * @throws errors.InvalidGrant, or another of `oidc-provider`’s errors, which becomes the answer
   */
  authenticate(ctx: KoaContextWithOIDC, client: Client): Promise<Subject>;
};

/** What a module named by GRANT_PLUGINS exports as `default`. */
export type GrantPluginModule = (services: GrantServices) => GrantPlugin | GrantPlugin[];

/** What an external plug-in may use. */
export type GrantServices = {
  /** The account with that id, or undefined; the gate itself refuses blocked ones. */
  findAccount(userId: string): Promise<{ userId: string; email: string | null } | undefined>;
  issuer: string;
};
