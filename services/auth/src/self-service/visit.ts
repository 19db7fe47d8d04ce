/**
 * A visit to a page below `/account`: whose session the browser has, whether it suffices for that page, how the page is shown and how a form
 * is answered. Somebody signs in first, as to any application, if they are not signed in, lack the second factor that the policy requires, or
 * want to change how they authenticate and have not logged in recently.
 */
import { randomBytes } from 'node:crypto';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Request, Response } from 'express';
import type { Session } from 'oidc-provider';
import { isSessionEnded } from '../accounts/store.ts';
import type { SessionDevice } from '../adapter/sessions.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { sessionLifetime } from '../clients/lifetimes.ts';
import { freshSeconds } from '../factors/fresh.ts';
import { isMultiFactor, multiFactorAcr, secondFactorDue } from '../factors/policy.ts';
import { dueOf } from '../factors/second-factor.ts';
import { mfaSettingsOf } from '../factors/types.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import { ApiError } from '../http/api-error.ts';
import { addressOf } from '../http/head.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { ForeignForm } from '../interaction/interaction.ts';
import type { Outcome } from '../interaction/page-memory.ts';
import { countedFrom } from '../library/sessions.ts';
import type { LogType } from '../log-types.ts';
import type { AccountChange } from '../mail/change-notice.ts';
import type { Languages } from '../mail/language.ts';
import type { Form, PageName, Pages } from '../pages/pages.ts';
import { callbackPath } from './client.ts';
import type { AccountParts } from './parts.ts';

/** What the library stores of a session, including what its typings leave out. */
export type OwnSession = Session & {
  accountId: string;
  exp: number;
  loginTs: number;
  continuedAt?: number;
  amr?: string[];
  acr?: string;
  isRemembered?: boolean;
  device?: SessionDevice;
  /** When a sign-in to `/account` last went through without being refused, in epoch seconds. */
  admittedAt?: number;
  past(seconds: number): boolean;
  persist(): Promise<unknown>;
  destroy(): Promise<void>;
};

export type Visit = {
  parts: AccountParts;
  request: Request;
  response: Response;
  session: OwnSession;
  account: AccountModel;
  settings: SettingsModel;
  address: string;
  languages: Languages;
  /** The key of what belongs to this session: its pages' memory, and the codes that it asked for. */
  owner: string;
  checkCsrf(token: unknown): void;
  /** The outcome that the last form left for the page at this path. */
  recall(path: string): Promise<Omit<Outcome, 'step'>>;
  show<Name extends PageName>(
    name: Name,
    page: Omit<Pages[Name], keyof Form> & { path: string; hidden?: Record<string, string> },
    outcome?: Omit<Outcome, 'step'>,
  ): Promise<void>;
  /** Answers a form by sending the browser to that path, whose page shows the outcome. */
  turnTo(path: string, outcome?: Omit<Outcome, 'step'>): Promise<void>;
  /** Logs that this person did this here. */
  note(type: LogType, details?: Record<string, unknown>): void;
  /** Reports the change by mail, to the address that the account had when this visit began. */
  notify(change: AccountChange): void;
};

/**
 * @param returnTo where a sign-in leads
 * @param needsFresh whether the page changes how somebody authenticates
 * @returns undefined, after answering, if they must sign in first
 */
export async function openVisit(
  parts: AccountParts,
  {
    request,
    response,
    returnTo,
    needsFresh,
  }: { request: Request; response: Response; returnTo: string; needsFresh: boolean },
): Promise<Visit | undefined> {
  const settings = await parts.settings.load();
  const session = (await parts.provider.Session.get(parts.provider.createContext(request, response))) as OwnSession;
  const account = session.accountId ? await parts.accounts.find(session.accountId) : undefined;
  const isForm = request.method === 'POST';
  const lacks = await missingProof(parts, { session, account, settings, needsFresh, isForm });
  if (lacks) {
    seeOther(response, signInAddress(parts, returnTo, lacks));
    return undefined;
  }
  return makeVisit(parts, { request, response, session, account: account!, settings });
}

/** How long one run of the actions opens these pages. A form may be sent as long again after that, so that what somebody enters is not lost. */
const admittedSeconds = 600;

/** Parameters of the authorization request that supplies what is missing; undefined if nothing is. */
async function missingProof(
  parts: AccountParts,
  given: {
    session: OwnSession;
    account: AccountModel | undefined;
    settings: SettingsModel;
    needsFresh: boolean;
    isForm: boolean;
  },
): Promise<Record<string, string> | undefined> {
  const { session, account, settings, needsFresh, isForm } = given;
  const isOpen = account && !account.blocked && account.linkedTo === null;
  if (!isOpen || isSessionEnded(countedFrom(session), account) || session.past(sessionLifetime.absolute)) return {};
  // Actions that decide who signs in also decide about these pages: otherwise a session would outlive the sign-in that they refuse.
  const admittedUntil = (session.admittedAt ?? 0) + admittedSeconds * (isForm ? 2 : 1);
  if (admittedUntil <= Date.now() / 1000 && (await parts.postLogin.isBound())) return {};
  const { amr, isRemembered = false } = session;
  const { factors } = account;
  const client = await parts.provider.Client.find(accountClientId);
  if (dueOf({ settings, client: client!, factors, params: {}, amr, isRemembered }).kind !== 'none') return {};
  if (!needsFresh) return undefined;
  // A second factor must be proven here, even if the policy does not ask for it: a password alone must not remove one.
  const due = secondFactorDue({ settings: mfaSettingsOf(settings), policy: null, factors, demanded: true });
  const stepUp = !isMultiFactor(amr) && due.kind === 'challenge' ? { acr_values: multiFactorAcr } : undefined;
  const hint = account.email ?? account.username ?? account.phoneNumber;
  if (session.past(freshSeconds)) return { prompt: 'login', ...stepUp, ...(hint && { login_hint: hint }) };
  return stepUp;
}

/** The resulting code is of no use to anybody: nobody has the verifier of its challenge. */
function signInAddress({ issuer }: AccountParts, returnTo: string, more: Record<string, string>): string {
  const base = baseUrlOf(issuer);
  return `/authorize?${new URLSearchParams({
    client_id: accountClientId,
    response_type: 'code',
    redirect_uri: `${base}${callbackPath.slice(1)}`,
    scope: 'openid',
    // For no API, whatever the tenant's default is.
    audience: `${base}userinfo`,
    state: returnTo,
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    ...more,
  })}`;
}

function makeVisit(
  parts: AccountParts,
  known: { request: Request; response: Response; session: OwnSession; account: AccountModel; settings: SettingsModel },
): Visit {
  const { request, response, session, account } = known;
  const owner = `account ${session.uid}`;
  const acceptLanguage = request.get('accept-language');
  const address = addressOf(request);
  const languages = { uiLocales: undefined, acceptLanguage };
  return {
    parts,
    ...known,
    address,
    languages,
    owner,
    checkCsrf(token) {
      if (!parts.csrf.matches(owner, token)) throw new ForeignForm();
    },
    async recall(path) {
      const { outcome } = await parts.pageMemory.recall(owner);
      return outcome?.step === path ? outcome : {};
    },
    async show(name, { path, hidden, ...page }, { problems = [], status, notice, retryAfterSeconds } = {}) {
      // A form may lead on to another provider, which may be on the developer's own machine.
      const form = { action: path, hidden: { ...hidden, csrf: parts.csrf.tokenFor(owner) }, problems, notice };
      const common = { ...(await parts.commonContext({ acceptLanguage, account })), redirectUri: parts.issuer };
      if (retryAfterSeconds !== undefined) response.set('retry-after', String(retryAfterSeconds));
      // The type of `show` has checked what this page needs; the compiler cannot tell here which page it is.
      sendPage(response, name, { ...common, ...form, ...page } as never, status ?? (problems.length > 0 ? 400 : 200));
    },
    async turnTo(path, outcome) {
      if (outcome) await parts.pageMemory.note(owner, {}, { ...outcome, step: path });
      seeOther(response, path);
    },
    note(type, details) {
      parts.audit.add({
        type,
        userId: account.userId,
        clientId: accountClientId,
        ip: address,
        ...(details && { details }),
      });
    },
    notify: (change) => parts.notifyOfChange(change, account, { ip: address }),
  };
}

/** For things that do not exist or belong to somebody else: the answer does not reveal which. */
export const notFound = () => new ApiError(404, 'not_found', 'there is nothing of yours at this address');
