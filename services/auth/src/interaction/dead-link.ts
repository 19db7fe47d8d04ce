/**
 * The page behind a link from a mail that no longer works: it says why, sends another link, and leads back to the application.
 * An old link reveals no address, and can only make us mail its owner, no more often than anybody could.
 */
import express, { type Request, type Response, type Router } from 'express';
import type { Client, Provider } from 'oidc-provider';
import { isEmail } from '../accounts/identifier.ts';
import type { Rate } from '../accounts/rate.ts';
import { makeBrowserCookie } from '../http/browser-cookie.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { Mac } from '../keys/mac.ts';
import type { Languages } from '../mail/language.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { MakeCommonContext } from './common-context.ts';
import type { PageMemory } from './page-memory.ts';
import { linkBack, rememberedClient } from './way-back.ts';

export type DeadLinkParts = {
  issuer: string;
  provider: Provider;
  csrf: Mac;
  pageMemory: PageMemory;
  rate: Rate;
  commonContext: MakeCommonContext;
};

/** What is still known about a link. */
export type DeadLink = { email: string; clientId?: string; isUsed: boolean; uiLocales?: string };

/** The person asking for another link. */
export type Asker = { ip: string; languages: Languages };

export type Renewal<Link extends DeadLink> = {
  /** The path of the page that this kind of link leads to. */
  path: string;
  sentPage: 'password-mail-sent' | 'login-mail-sent' | 'verification-mail-sent';
  find(value: string): Promise<Link | undefined>;
  /** Sends another link, based on what is known of the old one; undefined if that is not enough. */
  renew(link: Link, asker: Asker): (() => Promise<'sent' | 'too_many'>) | undefined;
  /** Sends a link to a typed address when nothing is known of the old link. */
  sendTo?(email: string, client: Client | undefined, asker: Asker): Promise<'sent' | 'too_many'>;
};

export type DeadLinks = {
  /** Answers a GET. */
  show(request: Request, response: Response, value: string): Promise<void>;
  router: Router;
};

/** How many links one browser may ask for here. */
const renewalLimit = { max: 5, windowSeconds: 600 };

export function makeDeadLinks<Link extends DeadLink>(parts: DeadLinkParts, renewal: Renewal<Link>): DeadLinks {
  const { path } = renewal;
  const kit = makeKit(parts, renewal);
  const router = express.Router();
  router.post(`${path}/new`, (request, response) => sendAnother(kit, request, response));
  router.get(`${path}/sent`, (request, response) => showSent(kit, request, response));
  return { show: (request, response, value) => showDead(kit, request, response, value), router };
}

/** The parts that the three pages share. */
function makeKit<Link extends DeadLink>(parts: DeadLinkParts, renewal: Renewal<Link>) {
  const { path } = renewal;
  const { csrf, provider } = parts;
  const browserCookie = makeBrowserCookie(parts.issuer);
  const ownerOf = (browser: string) => `browser ${path} ${browser}`;
  const formOf = (value: string, browser: string, hidden: Record<string, string> = {}) => ({
    action: `${path}/new`,
    hidden: { ...hidden, ticket: value, csrf: csrf.tokenFor(`new ${value} ${browser}`) },
  });
  const addressFor = (value: string) => `${path}?${new URLSearchParams({ ticket: value })}`;

  /** The application that the link was for, or else the last one used in this browser. */
  const clientOf = async (request: Request, response: Response, link: Link | undefined) =>
    (link?.clientId ? await provider.Client.find(link.clientId) : undefined) ??
    rememberedClient(provider, provider.createContext(request, response));
  const commonOf = async (request: Request, client: Client | undefined, link: Link | undefined) => {
    const back = linkBack(client);
    const params = { ui_locales: link?.uiLocales };
    const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params });
    return { ...common, ...(back && { back }) };
  };
  return { parts, renewal, browserCookie, ownerOf, formOf, addressFor, clientOf, commonOf };
}

type Kit<Link extends DeadLink> = ReturnType<typeof makeKit<Link>>;

async function showDead<Link extends DeadLink>(
  { parts: { pageMemory }, renewal, browserCookie, ownerOf, formOf, clientOf, commonOf }: Kit<Link>,
  request: Request,
  response: Response,
  value: string,
): Promise<void> {
  const link = await renewal.find(value);
  const client = await clientOf(request, response, link);
  const browser = browserCookie.ensure(request.get('cookie'), response);
  const { identifier: email = '', outcome } = await pageMemory.recall(ownerOf(browser));
  const canRenew = link !== undefined && renewal.renew(link, { ip: '', languages: {} }) !== undefined;
  const asks = link === undefined && renewal.sendTo !== undefined;
  const page = {
    ...formOf(value, browser),
    reason: link === undefined ? ('unknown' as const) : link.isUsed ? ('used' as const) : ('expired' as const),
    renewal: canRenew ? ('known' as const) : asks ? ('asks' as const) : ('none' as const),
    email,
    problems: outcome?.step === 'dead-link' ? (outcome.problems ?? []) : [],
  };
  sendPage(response, 'dead-link', { ...(await commonOf(request, client, link)), ...page }, outcome?.status ?? 400);
}

async function sendAnother<Link extends DeadLink>(
  { parts, renewal, browserCookie, ownerOf, addressFor, clientOf }: Kit<Link>,
  request: Request,
  response: Response,
): Promise<void> {
  const { csrf, pageMemory } = parts;
  const { path } = renewal;
  setRoute(response, `${path}/new`);
  const { ticket: value = '', csrf: token, email: typed = '', action } = fieldsOf(request);
  const browser = browserCookie.of(request.get('cookie'));
  if (!browser || !csrf.matches(`new ${value} ${browser}`, token)) return seeOther(response, addressFor(value));
  const link = await renewal.find(value);
  const languages = { uiLocales: link?.uiLocales, acceptLanguage: request.get('accept-language') };
  const asker = { ip: addressOf(request), languages };
  const facts = { identifier: typed.slice(0, 320) };
  const refuse = async (problem: ProblemName, status = 400) => {
    const resent = action === 'again';
    const step = resent ? 'sent' : 'dead-link';
    await pageMemory.note(ownerOf(browser), facts, { step, problems: [problem], status });
    seeOther(response, resent ? `${path}/sent` : addressFor(value));
  };
  const email = typed.trim().toLowerCase();
  if (!link && !isEmail(email)) return refuse('email_invalid');
  const { sendTo } = renewal;
  const send = link
    ? renewal.renew(link, asker)
    : sendTo && (async () => sendTo(email, await clientOf(request, response, link), asker));
  if (!send) return seeOther(response, addressFor(value));
  const isAllowed = await parts.rate.take('links-again', browser, renewalLimit.max, renewalLimit.windowSeconds);
  if (!isAllowed || (await send()) === 'too_many') return refuse('too_many_mails', 429);
  const mailTo = link ? '' : email;
  const outcome = { step: 'sent', resent: action === 'again' };
  await pageMemory.note(ownerOf(browser), { ...facts, link: value, mailTo }, outcome);
  seeOther(response, `${path}/sent`);
}

async function showSent<Link extends DeadLink>(
  { parts: { pageMemory }, renewal, browserCookie, ownerOf, formOf, clientOf, commonOf }: Kit<Link>,
  request: Request,
  response: Response,
): Promise<void> {
  const { path } = renewal;
  setRoute(response, `${path}/sent`);
  const browser = browserCookie.of(request.get('cookie'));
  const { link: value, mailTo: email, outcome } = browser ? await pageMemory.recall(ownerOf(browser)) : {};
  if (!browser || value === undefined) return seeOther(response, path);
  const link = await renewal.find(value);
  const page = {
    ...formOf(value, browser, email ? { email } : {}),
    ...(email && { email }),
    resent: outcome?.resent ?? false,
    problems: outcome?.problems ?? [],
  };
  const common = await commonOf(request, await clientOf(request, response, link), link);
  sendPage(response, renewal.sentPage, { ...common, ...page }, outcome?.status);
}
