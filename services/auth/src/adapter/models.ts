/** Which store keeps which of oidc-provider’s models, and how. */

export type Rule = {
  store: 'clients' | 'postgres' | 'redis';
  /** The id itself is the secret, so only its hash is stored. */
  hashed: boolean;
  /** Revoked together with its grant. */
  grantable: boolean;
};

/**
 * PostgreSQL holds what must survive the loss of Redis: everything a refresh token needs, and registrations. Session and DeviceCode
 * are also looked up by a second key (`findByUid`, `findByUserCode`), which leads to an id, so their ids cannot be hashed.
 */
// biome-ignore format: a table
const rules: Record<string, Rule> = {
  Client:                     { store: 'clients',  hashed: false, grantable: false },
  Grant:                      { store: 'postgres', hashed: false, grantable: false },
  RefreshToken:               { store: 'postgres', hashed: true,  grantable: true },
  InitialAccessToken:         { store: 'postgres', hashed: true,  grantable: false },
  RegistrationAccessToken:    { store: 'postgres', hashed: true,  grantable: false },
  AuthorizationCode:          { store: 'redis',    hashed: true,  grantable: true },
  AccessToken:                { store: 'redis',    hashed: true,  grantable: true },
  ClientCredentials:          { store: 'redis',    hashed: true,  grantable: false },
  PushedAuthorizationRequest: { store: 'redis',    hashed: true,  grantable: false },
  ReplayDetection:            { store: 'redis',    hashed: true,  grantable: false },
  DeviceCode:                 { store: 'redis',    hashed: false, grantable: true },
  Session:                    { store: 'redis',    hashed: false, grantable: false },
  Interaction:                { store: 'redis',    hashed: false, grantable: false },
};

/** @throws for the model of a disabled feature */
export function ruleOf(model: string): Rule {
  const rule = rules[model];
  if (!rule) throw new Error(`no store is chosen for the model ${model}`);
  return rule;
}
