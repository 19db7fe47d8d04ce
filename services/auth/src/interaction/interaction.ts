/** One interaction: what the authorization request asked for, how its pages are shown, and how it ends. */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Request, Response } from 'express';
import { type Client, errors, type InteractionResults, type Provider } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { CheckCode } from '../accounts/check-code.ts';
import type { SendPasswordMail } from '../accounts/password-mail.ts';
import type { Rate } from '../accounts/rate.ts';
import type { SignUp } from '../accounts/signup.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Pauses } from '../actions/pauses.ts';
import type { ConsentStore } from '../authorization/consents.ts';
import type { TicketStore } from '../authorization/login-ticket.ts';
import { interactionLifetime } from '../clients/lifetimes.ts';
import type { FactorParts } from '../factors/parts.ts';
import type { AccountModel } from '../generated/models.ts';
import { addressOf } from '../http/head.ts';
import { seeOther, sendPage } from '../http/page.ts';
import type { Mac } from '../keys/mac.ts';
import { loginOf } from '../library/sessions.ts';
import type { Languages } from '../mail/language.ts';
import type { OrganizationPrompt } from '../organizations/prompts.ts';
import type { OrganizationStore } from '../organizations/store.ts';
import type { CommonContext, Form, PageName, Pages } from '../pages/pages.ts';
import type { OpenAccount } from '../passwordless/account.ts';
import type { SendCode } from '../passwordless/send-code.ts';
import type { Bots } from '../protection/bots.ts';
import type { TakeSignup } from '../protection/signups.ts';
import type { Report } from '../report.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { MakeCommonContext } from './common-context.ts';
import type { Facts, Outcome, PageMemory } from './page-memory.ts';

export type InteractionParts = FactorParts & {
  provider: Provider;
  /** Whether cookies are sent over https only. */
  secure: boolean;
  accounts: AccountStore;
  authenticate: Authenticate;
  checkCode: CheckCode;
  sendCode: SendCode;
  openAccount: OpenAccount;
  signUp: SignUp;
  takeSignup: TakeSignup;
  bots: Bots;
  sendPasswordMail: SendPasswordMail;
  consents: ConsentStore;
  tickets: TicketStore;
  connections: ConnectionStore;
  resources: ResourceStore;
  organizations: OrganizationStore;
  settings: SettingsStore;
  rate: Rate;
  /** Binds a form to the interaction it was shown in. Origin checks alone would not do: with `no-referrer` browsers send `Origin: null`. */
  csrf: Mac;
  pageMemory: PageMemory;
  commonContext: MakeCommonContext;
  report: Report;
  seal: Seal;
  upstream: Upstream;
  pauses: Pauses;
  log: Log;
};

export type Interaction = {
  parts: InteractionParts;
  request: Request;
  response: Response;
  uid: string;
  prompt: 'login' | 'consent' | 'select_account' | 'mfa' | 'actions' | OrganizationPrompt;
  details: Awaited<ReturnType<Provider['interactionDetails']>>;
  params: Record<string, unknown>;
  client: Client;
  /** The client's address. */
  address: string;
  /** When this request arrived, in epoch seconds: before anything was read about the person it signs in. */
  begunAt: number;
  /** The languages requested for its pages and mails. */
  languages: Languages;
  /** `/interaction/{uid}/{step}`; without a step, the first page. */
  path(step?: string): string;
  checkCsrf(token: unknown): void;
  /** Somebody has answered, here or at a provider: from now on the interaction has its full lifetime. */
  keep(): Promise<void>;
  /** Something is expected for so many seconds: the interaction does not end before. */
  keepFor(seconds: number): Promise<void>;
  /** What earlier POSTs left for the page of this step. */
  recall(step: string): Promise<Recalled>;
  /** Shows a page of this interaction; fills in the form's action, hidden fields and the common context. */
  show<Name extends PageName>(
    name: Name,
    page: Omit<Pages[Name], keyof Form> & { step?: string; hidden?: Record<string, string> },
    outcome?: Omit<Outcome, 'step'>,
  ): Promise<void>;
  /** Answers a POST by sending the browser to a GET of that step's page, which recalls what is noted here. */
  turnTo(step: string, facts?: Facts, outcome?: Omit<Outcome, 'step'>): Promise<void>;
  finish(result: InteractionResults, merge?: boolean): Promise<void>;
  /** Sends the browser to another provider. */
  leave(address: string): void;
};

/** `typed`: the login somebody entered, here or in the application. `outcome`: of the last POST, if this page is to show it. */
export type Recalled = Facts & { typed: string; outcome: Omit<Outcome, 'step'> };

/** @throws errors.SessionNotFound when the browser does not have this interaction (any more) */
export async function openInteraction(
  parts: InteractionParts,
  request: Request,
  response: Response,
): Promise<Interaction> {
  const { provider, csrf } = parts;
  const begunAt = Math.floor(Date.now() / 1000);
  const details = await provider.interactionDetails(request, response);
  const { uid } = details;
  // The cookie’s path keeps interactions apart, but only this check ties the form to the interaction in the URL.
  if (request.params.uid !== uid) throw new errors.SessionNotFound('another interaction');
  const params = details.params as Record<string, unknown>;
  const client = await provider.Client.find(String(params.client_id));
  if (!client) throw new errors.SessionNotFound('the application is gone');
  const account = await sessionOwner(parts, details.session);
  const path = (step?: string) => `/interaction/${uid}${step ? `/${step}` : ''}`;
  const owner = `interaction ${uid}`;
  const prolong = (seconds: number) => prolongInteraction(parts, { request, response, details, path }, seconds);
  const commonContext = (): Promise<CommonContext> =>
    parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params, account, uid });

  return {
    parts,
    request,
    response,
    uid,
    prompt: details.prompt.name as Interaction['prompt'],
    details,
    params,
    client,
    address: addressOf(request),
    begunAt,
    languages: { uiLocales: textOf(params.ui_locales), acceptLanguage: request.get('accept-language') },
    path,
    checkCsrf(token) {
      if (!csrf.matches(uid, token)) throw new ForeignForm();
    },
    async keep() {
      const { exp, iat } = details as Dated;
      if (exp - iat < interactionLifetime.answered) await prolong(interactionLifetime.answered);
    },
    async keepFor(seconds) {
      if ((details as Dated).exp < Date.now() / 1000 + seconds) await prolong(seconds);
    },
    async recall(step) {
      const { outcome, ...facts } = await parts.pageMemory.recall(owner);
      const hint = typeof params.login_hint === 'string' ? params.login_hint : '';
      const isHere = outcome?.step === step;
      return { ...facts, typed: facts.identifier ?? hint, outcome: isHere ? outcome : {} };
    },
    async show(name, { step, hidden, ...page }, { problems = [], said, status, retryAfterSeconds } = {}) {
      const form = {
        action: path(step),
        hidden: { ...hidden, csrf: csrf.tokenFor(uid) },
        problems,
        ...(said !== undefined && { said }),
      };
      const context = { ...(await commonContext()), ...form, ...page };
      if (retryAfterSeconds !== undefined) response.set('retry-after', String(retryAfterSeconds));
      // The type of `show` has checked what this page needs; the compiler cannot tell here which page it is.
      sendPage(response, name, context as never, status ?? (problems.length > 0 ? 400 : 200));
    },
    async turnTo(step, facts = {}, outcome) {
      await parts.pageMemory.note(owner, facts, outcome && { ...outcome, step });
      seeOther(response, path(step));
    },
    finish: (result, merge = true) =>
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: merge }),
    leave: (address) => seeOther(response, address),
  };
}

type Dated = Interaction['details'] & { exp: number; iat: number };

/** From now on the interaction lives that long. */
async function prolongInteraction(
  { provider, secure }: InteractionParts,
  { request, response, details, path }: Pick<Interaction, 'request' | 'response' | 'details' | 'path'>,
  seconds: number,
): Promise<void> {
  await details.save(seconds);
  // The cookies end with the interaction; these are the attributes that the library set.
  const { cookies } = provider.createContext(request, response);
  const options = { signed: true, httpOnly: true, sameSite: 'lax', secure, maxAge: seconds * 1000 } as const;
  for (const [name, where] of [
    ['interaction', path()],
    ['resume', new URL(details.returnTo).pathname],
  ] as const)
    cookies.set(provider.cookieName(name), details.uid, { ...options, path: where });
}

/** The session's account, unless it is gone: a later account with the same id is somebody else. */
async function sessionOwner(
  { provider, accounts }: InteractionParts,
  begun: { accountId: string; uid: string } | undefined,
): Promise<AccountModel | undefined> {
  if (!begun) return undefined;
  const [session, account] = await Promise.all([provider.Session.findByUid(begun.uid), accounts.find(begun.accountId)]);
  return session && account?.incarnation === loginOf(session).incarnation ? account : undefined;
}

/** A form without the token of its interaction: cross-site, or from another tab’s login. */
export class ForeignForm extends Error {
  override name = 'ForeignForm';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
