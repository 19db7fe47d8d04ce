/** All grant types beyond those that oidc-provider serves unchanged; one file each. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Redis } from 'ioredis';
import type { Provider } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { CheckCode } from '../accounts/check-code.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { CredentialsExchange } from '../actions/credentials-exchange.ts';
import type { PostLogin } from '../actions/post-login.ts';
import type { Pool } from '../database.ts';
import type { AccessParts } from '../factors/access.ts';
import { mfaGrants } from '../factors/grants.ts';
import { addMfaTokenToErrors, type RequireSecondFactor } from '../factors/mfa-token.ts';
import type { FactorParts } from '../factors/parts.ts';
import { registerAuthorizationCode } from '../library/grants/authorization-code.ts';
import { registerClientCredentials } from '../library/grants/client-credentials.ts';
import { registerDeviceCode } from '../library/grants/device-code.ts';
import { registerRefreshToken } from '../library/grants/refresh-token.ts';
import { revokeOnReplay } from '../library/grants/replay.ts';
import { giveBackUnanswered } from '../library/grants/unanswered.ts';
import { extendUsedTokens } from '../library/tokens/idle.ts';
import type { OpenAccount } from '../passwordless/account.ts';
import type { Bots } from '../protection/bots.ts';
import type { Report } from '../report.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import { passwordGrants } from './password.ts';
import { passwordlessOtp } from './passwordless-otp.ts';
import { registerPersonGrant } from './person.ts';
import type { GrantPlugin, GrantPluginModule } from './plugin.ts';
import { registerTokenExchange } from './token-exchange.ts';

export type GrantParts = {
  provider: Provider;
  pool: Pool;
  redis: Redis;
  prefix: string;
  authenticate: Authenticate;
  checkCode: CheckCode;
  openAccount: OpenAccount;
  accounts: AccountStore;
  connections: ConnectionStore;
  resources: ResourceStore;
  settings: SettingsStore;
  report: Report;
  bots: Bots;
  /** The modules named by GRANT_PLUGINS. */
  plugins: GrantPlugin[];
  requireSecondFactor: RequireSecondFactor;
  postLogin: PostLogin;
  credentialsExchange: CredentialsExchange;
} & FactorParts &
  AccessParts;

/** Call it before the first client is loaded: a client with an unknown grant type is refused. */
export function registerGrants(parts: GrantParts): void {
  const { provider } = parts;
  giveBackUnanswered(provider, parts.redis, parts.prefix);
  registerAuthorizationCode(provider);
  registerClientCredentials(provider, parts.credentialsExchange);
  registerRefreshToken(provider, parts.resources);
  extendUsedTokens(provider, parts.pool);
  registerDeviceCode(provider, parts.redis, parts.prefix);
  revokeOnReplay(provider);
  addMfaTokenToErrors(provider);
  registerTokenExchange(provider, parts.postLogin);
  for (const plugin of [...passwordGrants(parts), passwordlessOtp(parts), ...mfaGrants(parts), ...parts.plugins])
    registerPersonGrant(provider, plugin, parts);
}

/** @throws an error that names the module if it cannot be loaded or is not a grant plug-in */
export async function loadGrantPlugins(
  names: string[],
  services: Parameters<GrantPluginModule>[0],
): Promise<GrantPlugin[]> {
  const loaded = await Promise.all(
    names.map(async (name) => {
      const specifier = /^[./]/.test(name) ? pathToFileURL(resolve(name)).href : name;
      try {
        const { default: make } = (await import(specifier)) as { default: GrantPluginModule };
        return [make(services)].flat().map(checked);
      } catch (cause) {
        throw new Error(`GRANT_PLUGINS: ${name} cannot be loaded`, { cause });
      }
    }),
  );
  return loaded.flat();
}

function checked(plugin: GrantPlugin): GrantPlugin {
  const { grantType, parameters, authenticate } = plugin;
  if (typeof grantType !== 'string' || !Array.isArray(parameters) || typeof authenticate !== 'function')
    throw new TypeError('a grant plug-in has grantType, parameters and authenticate');
  return plugin;
}
