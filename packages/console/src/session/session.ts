/**
 * The sign-in: authorization code with PKCE; tokens and rotating refresh tokens only in this page's memory. A reloaded page goes through the
 * gate, whose session is a cookie of its own: while that is valid nobody sees more than a moment of it.
 */
import {
  ErrorResponse,
  InMemoryWebStorage,
  UserManager,
  type UserManagerSettings,
  WebStorageStateStore,
} from 'oidc-client-ts';
import type { Config } from './config.ts';
import { endOf, SignedOut } from './errors.ts';
import { type GateToken, openGateTokens } from './gate-token.ts';
import { openRenewal, type Renewal } from './renewal.ts';

export type Person = { sub: string; name: string };

export type Session = {
  person: Person;
  /** Whether the person administers the installation: the scope of that name was granted. */
  isSiteAdmin: boolean;
  /** A valid access token of the webhook API. If the session has ended and something was typed, waits for a new sign-in. */
  token(): Promise<string>;
  /** Another token, since the API refused this one. */
  tokenAfter(refused: string): Promise<string>;
  renewal: Renewal;
  gate: {
    /** With its trailing slash. */
    issuer: string;
    /** A valid access token of the gate's management API; undefined for people who cannot get one. */
    token(): Promise<GateToken | undefined>;
    /** Discards the current token, which is no longer valid. */
    forget(): void;
  };
  /** Leaves the page for the gate's; comes back to the same place. */
  signIn(): Promise<never>;
  signOut(): Promise<void>;
};

/** Scopes that a person may use; the API also checks the person's memberships (docs/reference/webhooks-api.md). */
const scope = 'openid profile email offline_access repo admin:repo_hook admin:org_hook admin:org read:org site_admin';

/** The displayed claims. In the ID token, where they cost no request (OpenID Connect Core 5.5). */
const shownClaims = { id_token: { name: null, email: null } };

/** Where the person wanted to go, kept during the visit to the gate. */
const addressKey = 'gatepost address';

/** Whether this address is the gate's answer. */
export function hasAnswer(): boolean {
  const parameters = new URLSearchParams(location.search);
  return parameters.has('state') && (parameters.has('code') || parameters.has('error'));
}

/**
 * Resolves with the session, or leaves the page for the gate's. When the gate has answered, the page has its original address again as soon
 * as this returns.
 */
export async function openSession({ issuer, client_id, audience }: Config): Promise<Session> {
  const home = new URL(import.meta.env.BASE_URL, location.href).href;
  const settings: UserManagerSettings = {
    authority: issuer,
    // Where Auth0 has them: asking the gate first would cost a round trip per load.
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}authorize`,
      token_endpoint: `${issuer}oauth/token`,
      end_session_endpoint: `${issuer}oidc/logout`,
    },
    client_id,
    redirect_uri: home,
    post_logout_redirect_uri: home,
    scope,
    extraQueryParams: { audience, claims: JSON.stringify(shownClaims) },
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
    monitorSession: false,
    automaticSilentRenew: false,
  };
  const manager = new UserManager(settings);
  const signIn = async () => {
    sessionStorage.setItem(addressKey, location.pathname + location.search);
    await manager.signinRedirect();
    return new Promise<never>(() => {}); // the page is left
  };
  if (!hasAnswer()) return signIn();
  const answer = location.href;
  history.replaceState(null, '', sessionStorage.getItem(addressKey) ?? home);
  const user = await manager.signinRedirectCallback(answer);
  const renewal = openRenewal(manager, settings, { sub: user.profile.sub, leave: signIn });
  const gate = openGateTokens(manager, { issuer, client_id }, inTurn);
  /** Runs something that needs a session, and runs it once more after a new sign-in. */
  const untilSignedIn = async <T>(ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SignedOut)) throw error;
      await renewal.wait();
      gate.forget();
      return ask();
    }
  };
  return {
    person: { sub: user.profile.sub, name: user.profile.name ?? user.profile.email ?? user.profile.sub },
    isSiteAdmin: user.scopes.includes('site_admin'),
    token: () => untilSignedIn(() => tokenOf(manager)),
    tokenAfter: (refused) => untilSignedIn(() => anotherThan(manager, refused)),
    renewal,
    gate: { issuer, token: () => untilSignedIn(gate.token), forget: gate.forget },
    signIn,
    signOut: () => manager.signoutRedirect(),
  };
}

/** Another caller may have renewed it meanwhile. */
function anotherThan(manager: UserManager, refused: string): Promise<string> {
  return inTurn(async () => {
    const good = await goodOne(manager);
    return good !== undefined && good !== refused ? good : renew(manager);
  });
}

const earlySeconds = 30;

async function tokenOf(manager: UserManager): Promise<string> {
  return (await goodOne(manager)) ?? inTurn(async () => (await goodOne(manager)) ?? renew(manager));
}

async function goodOne(manager: UserManager): Promise<string | undefined> {
  const user = await manager.getUser();
  return user && (user.expires_in ?? 0) > earlySeconds ? user.access_token : undefined;
}

let last: Promise<unknown> = Promise.resolve();

/** Uses the refresh token one at a time: using one twice ends its whole family. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = last.then(work, work);
  last = result.catch(() => {});
  return result;
}

async function renew(manager: UserManager): Promise<string> {
  const user = await manager.getUser();
  if (!user?.refresh_token) throw new SignedOut();
  const renewed = await manager.signinSilent().catch((error) => {
    throw endOf(error instanceof ErrorResponse ? error.error : undefined);
  });
  if (!renewed) throw new SignedOut();
  return renewed.access_token;
}
