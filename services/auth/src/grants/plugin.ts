/**
 * How a grant type is added: one that proves who a person is gets tokens for that person. Built-in ones and those that
 * GRANT_PLUGINS names have this same shape. oidc-provider has authenticated the client and checked its grant types before.
 */
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

export type Subject = {
  accountId: string;
  /** RFC 8176 values, e.g. `pwd`, `otp`. */
  amr?: string[];
};

export type GrantPlugin = {
  /** `grant_type` of the token request: an absolute URI, or a name of RFC 6749. */
  grantType: string;
  /** Names of the request's own parameters; all others but `scope`, `audience` and `resource` are dropped. */
  parameters: readonly string[];
  /**
   * Proves the subject. Runs last, when everything cheaper has been checked.
   * @throws errors.InvalidGrant, or another of `oidc-provider`'s errors, which becomes the answer
   */
  authenticate(ctx: KoaContextWithOIDC, client: Client): Promise<Subject>;
};

/** What a module named by GRANT_PLUGINS exports as `default`. */
export type GrantPluginModule = (services: GrantServices) => GrantPlugin | GrantPlugin[];

/** What a plug-in from outside may use. */
export type GrantServices = {
  /** The account of that id, or undefined; blocked ones are refused by the gate itself. */
  findAccount(userId: string): Promise<{ userId: string; email: string | null } | undefined>;
  issuer: string;
};
