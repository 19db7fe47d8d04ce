/** The library's sessions with what ours remember beyond its own, and how that is read. */
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import type { SessionDevice, Sessions } from '../adapter/sessions.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { signInAcr } from '../factors/policy.ts';
import { addressOf } from '../http/head.ts';
import { keepProperty } from './seam.ts';

/** As sessions and interactions carry it; `hint` is the provider's ID token, sealed, for its logout (upstream/session.ts). */
export type StoredUpstream = { accountId: string; connection: string; hint?: string };

type BoundSession = {
  accountId?: string;
  incarnation?: string | undefined;
  /** A remembered browser was spared the second factor (factors/remembered.ts). */
  isRemembered?: boolean | undefined;
  upstream?: StoredUpstream | undefined;
  /** The connection the person signed in by: the account's own, or that of a linked identity. */
  connection?: string | undefined;
  device?: SessionDevice | undefined;
  continuedAt?: number | undefined;
  /** Just before its login was noted (accounts/last-login.ts), in epoch milliseconds. */
  loggedInAt?: number | undefined;
  /** When an action ends the session, which may be used until then. */
  endsAt?: number | undefined;
  admittedAt?: number | undefined;
  authTime(): number | undefined;
};

/**
 * Sessions remember the account itself, not only its id, so that a later account with the same id does not inherit them. Code that
 * logs somebody in states it beside `accountId`; a session without it belongs to nobody. Sessions also remember their acr, the
 * provider where they began if it was another one (upstream/session.ts), the connection, the browser, when the login was noted, and when
 * `/account` was last opened to them. A logout ends the session as `sessions` does, so that no request still holding it writes it again.
 */
export function bindSessions(provider: Provider, sessions: Pick<Sessions, 'end'>): void {
  keepProperty(provider.Session, 'incarnation');
  keepProperty(provider.Session, 'isRemembered');
  keepProperty(provider.Session, 'upstream');
  keepProperty(provider.Session, 'connection');
  keepProperty(provider.Session, 'device');
  keepProperty(provider.Session, 'continuedAt');
  keepProperty(provider.Session, 'admittedAt');
  keepProperty(provider.Session, 'endsAt');
  keepProperty(provider.Session, 'loggedInAt');
  keepProperty(provider.Interaction, 'upstream');
  // `loginAccount` and `destroy` are missing in the typings.
  const prototype = provider.Session.prototype as unknown as BoundSession & {
    uid: string;
    loginAccount(details: { incarnation?: string; acr?: string; connection?: string; loggedInAt?: number }): void;
    save(ttl: number): Promise<unknown>;
    destroy(): Promise<void>;
  };
  const { loginAccount, save, destroy } = prototype;
  prototype.loginAccount = function (details) {
    const before = this.accountId;
    loginAccount.call(this, { ...details, acr: details.acr ?? signInAcr });
    // The library passes on only the parts of an interaction’s result that it knows.
    const interaction = Provider.ctx?.oidc?.entities.Interaction as BoundInteraction | undefined;
    const result = interaction?.result;
    this.incarnation = details.incarnation ?? result?.login?.incarnation;
    this.connection = details.connection ?? result?.login?.connection;
    this.isRemembered = result?.login?.isRemembered;
    this.loggedInAt = details.loggedInAt ?? result?.login?.loggedInAt;
    this.upstream = [interaction?.upstream, this.upstream].find((each) => each?.accountId === this.accountId);
    this.device = undefined;
    // A second factor counts as a login at the time of the first, so whatever spared the session still applies.
    if (this.accountId !== before) this.continuedAt = undefined;
    // The actions set these again, or their earlier decision is kept (actions/outcomes.ts).
    this.endsAt = undefined;
    this.admittedAt = undefined;
  };
  // Nothing refused the request, and nothing is missing.
  provider.on('authorization.accepted', ({ oidc: { client, session } }) => {
    if (client?.clientId === accountClientId && session)
      (session as BoundSession).admittedAt = Math.floor(Date.now() / 1000);
  });
  prototype.save = function (ttl) {
    if (this.accountId && Provider.ctx) this.device = deviceOf(Provider.ctx, this.device);
    return save.call(this, ttl);
  };
  prototype.destroy = async function () {
    await sessions.end(this.uid);
    await destroy.call(this);
  };
}

/** A session is read on every request, so the user agent is cut short. */
const userAgentMax = 256;

function deviceOf({ req }: KoaContextWithOIDC, before: SessionDevice | undefined): SessionDevice {
  const agent = (req.headers['user-agent'] ?? '').slice(0, userAgentMax);
  const ip = addressOf(req);
  const begun = before ?? { initial_user_agent: agent, initial_ip: ip };
  return { ...begun, last_user_agent: agent, last_ip: ip };
}

type BoundInteraction = { result?: { login?: Partial<BoundSession> }; upstream?: StoredUpstream };

/**
 * When a session counts from, if the account ends its sessions up to some moment (accounts/store.ts): its login, or the time when its
 * owner ended all others and spared it. Being spared is not a login: `loginOf` says how fresh the session is.
 */
export function countedFrom({
  loginTs,
  continuedAt = 0,
  incarnation,
}: {
  loginTs?: number;
  continuedAt?: number;
  incarnation?: string;
}): { from: number | undefined; incarnation: string | undefined } {
  return { from: loginTs === undefined ? undefined : Math.max(loginTs, continuedAt), incarnation };
}

/** The connection by which the session's owner signed in. Undefined if an older release began the session without noting it. */
export function connectionOfSession(session: object): string | undefined {
  const { connection, upstream, accountId } = session as BoundSession;
  return connection ?? (upstream?.accountId === accountId ? upstream?.connection : undefined);
}

/** From now on `/account` is open to the session only after another sign-in there. */
export function endAdmission(session: object): void {
  (session as BoundSession).admittedAt = undefined;
}

/** When the login of a session happened, and for which account. */
export function loginOf(session: object): { from: number | undefined; incarnation: string | undefined } {
  const bound = session as BoundSession;
  return { from: bound.authTime(), incarnation: bound.incarnation };
}
