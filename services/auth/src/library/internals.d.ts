// The unexported modules of oidc-provider that we need; only seam.ts may import them.
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type { KoaContextWithOIDC, Provider, TokenEndpointGrantContext } from 'oidc-provider';

  export type ProviderState = {
    configuration: {
      responseTypes: string[];
      grantTypes: Set<string>;
      findAccount(
        ctx: KoaContextWithOIDC,
        sub: string,
        token?: unknown,
      ): Promise<import('oidc-provider').Account | undefined>;
    };
    responseModes: Map<
      string,
      (ctx: KoaContextWithOIDC, redirectUri: string, response: Record<string, string | number>) => unknown
    >;
    grantTypeHandlers: Map<string, (ctx: TokenEndpointGrantContext) => Promise<void>>;
    grantTypeParams: Map<string | undefined, Set<string>>;
    keystore: Iterable<{ kid: string }> & { clear(): void; add(key: object): void };
    jwks: { keys: object[] };
    dynamicClients: object;
    DPoPNonces: import('oidc-provider/lib/helpers/challenge.js').default;
    features: { registration: { initialAccessToken: unknown } };
  };
  export default function instance(provider: Provider): ProviderState;
}

declare module 'oidc-provider/lib/helpers/challenge.js' {
  export default class ServerChallenge {
    constructor(secret: Buffer, info: string);
    nextChallenge(): string;
    checkChallenge(challenge: string): boolean;
  }
}

declare module 'oidc-provider/lib/helpers/lru.js' {
  export default class LRU {
    constructor(options: { maxSize: number });
  }
}

declare module 'oidc-provider/lib/helpers/revoke.js' {
  import type { KoaContextWithOIDC } from 'oidc-provider';

  /** Destroys the grant, where `revokeGrantPolicy` allows it, and everything that depends on it. */
  export default function revoke(ctx: KoaContextWithOIDC, grantId: string): Promise<void>;
}
