/**
 * Auth0’s magic link: a mailed link to a page that logs in by its form, not by being opened, because mail scanners open links too, and so
 * do people who are sent somebody else’s link. The page names the account; the login belongs to the browser that showed the page.
 */

import { randomBytes } from 'node:crypto';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import express, { type Request, type Response, type Router } from 'express';
import type { Redis } from 'ioredis';
import type { Client } from 'oidc-provider';
import { makePastLinks } from '../accounts/past-links.ts';
import { type AccountStore, stateText } from '../accounts/store.ts';
import { hashId } from '../adapter/hashed.ts';
import type { TicketStore } from '../authorization/login-ticket.ts';
import { ApiError } from '../http/api-error.ts';
import { makeBrowserCookie } from '../http/browser-cookie.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { tooLong } from '../http/parameter-size.ts';
import { setRoute } from '../http/route.ts';
import { type DeadLinkParts, type DeadLinks, makeDeadLinks } from '../interaction/dead-link.ts';
import type { Languages } from '../mail/language.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { Report } from '../report.ts';
import { type OpenAccount, SignUpDenied } from './account.ts';
import type { SendMessage } from './message.ts';

/** What a link represents: the mailbox, and the authorization request that it continues. */
export type LoginLink = { connection: string; email: string; clientId: string; params: Record<string, string> };

/** Long parameters are dropped; then only the application is known to lead back to. */
type PastLoginLink = Omit<LoginLink, 'params'> & { params?: Record<string, string>; uiLocales?: string };

export type LinkParts = DeadLinkParts & {
  accounts: AccountStore;
  redis: Redis;
  prefix: string;
  sendMessage: SendMessage;
  openAccount: OpenAccount;
  tickets: TicketStore;
  report: Report;
};

export type SendLink = (link: LoginLink, ip: string, languages: Languages) => Promise<'sent' | 'too_many'>;

const path = '/passwordless/link';
const ttlSeconds = 600;
/** A link that no longer works is kept for long, so it must be small. */
const keptMax = 2_000;

export function makeLinks(parts: LinkParts): { sendLink: SendLink; router: Router } {
  const stored = makeStoredLinks(parts);
  const sendLink: SendLink = (link, ip, languages) =>
    parts.sendMessage({
      channel: 'email',
      connection: link.connection,
      recipient: link.email,
      ip,
      clientId: link.clientId,
      languages,
      async compose(owner) {
        const value = await stored.store(link, owner);
        const url = `${baseUrlOf(parts.issuer)}${path.slice(1)}?ticket=${value}`;
        return { name: 'login_link', url, ttlSeconds };
      },
    });

  const deadLinks = makeDeadLinks(parts, {
    path,
    sentPage: 'login-mail-sent',
    find: stored.past,
    renew({ connection, email, clientId, params }, { ip, languages }) {
      return params && (() => sendLink({ connection, email, clientId, params }, ip, languages));
    },
  });
  const page = { ...parts, stored, deadLinks, browserCookie: makeBrowserCookie(parts.issuer) };
  const router = express.Router();
  router.get(path, (request, response) => showLogin(page, request, response));
  router.post(path, (request, response) => login(page, request, response));
  router.use(deadLinks.router);
  return { sendLink, router };
}

/** Links are valid while the address still logs in the same person, in the same state, as when they were sent. */
function makeStoredLinks({ redis, prefix, accounts }: LinkParts) {
  const key = (value: string) => `${prefix}login-link:${hashId(value)}`;
  const past = makePastLinks<PastLoginLink>(redis, prefix, 'login-link');
  const live = async (stored: string | null): Promise<LoginLink | undefined> => {
    if (!stored) return undefined;
    const { owner, ...link } = JSON.parse(stored) as LoginLink & { owner: string };
    const account = await accounts.findAddressee('email', link.connection, link.email);
    return stateText(account) === owner ? link : undefined;
  };
  return {
    /** What is left of an expired link. */
    past: past.find,
    find: async (value: string) => live(await redis.get(key(value))),
    async redeem(value: string) {
      const link = await live(await redis.getdel(key(value)));
      if (link) await past.markUsed(value);
      return link;
    },
    async store(link: LoginLink, owner: string): Promise<string> {
      const value = randomBytes(32).toString('base64url');
      await redis.set(key(value), JSON.stringify({ ...link, owner }), 'EX', ttlSeconds);
      await past.remember(value, pastLinkOf(link));
      return value;
    },
  };
}

type LoginPage = LinkParts & {
  stored: ReturnType<typeof makeStoredLinks>;
  deadLinks: DeadLinks;
  browserCookie: ReturnType<typeof makeBrowserCookie>;
};

async function showLogin(parts: LoginPage, request: Request, response: Response): Promise<void> {
  const { stored, deadLinks } = parts;
  setRoute(response, path);
  const { ticket: value = '' } = queryOf(request);
  const link = await stored.find(value);
  if (!link) return deadLinks.show(request, response, value);
  const { outcome } = await parts.pageMemory.recall(`link ${value}`);
  return sendForm(parts, request, response, { value, link, ...outcome });
}

async function sendForm(
  parts: LoginPage,
  request: Request,
  response: Response,
  given: { value: string; link: LoginLink; problems?: ProblemName[]; said?: string; status?: number },
): Promise<void> {
  const { value, link, problems = [], said, status } = given;
  const client = await parts.provider.Client.find(link.clientId);
  if (!client) return parts.deadLinks.show(request, response, value);
  const { redirect_uri = client.redirectUris?.[0], ui_locales } = link.params;
  const params = { redirect_uri, ui_locales };
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params });
  const browser = parts.browserCookie.ensure(request.get('cookie'), response);
  const form = { action: path, hidden: { ticket: value, csrf: parts.csrf.tokenFor(`${value} ${browser}`) } };
  const words = said !== undefined && { said };
  sendPage(response, 'login-link', { ...common, ...form, email: link.email, problems, ...words }, status);
}

async function login(parts: LoginPage, request: Request, response: Response): Promise<void> {
  const { stored, browserCookie } = parts;
  setRoute(response, path);
  const { ticket: value = '', csrf } = fieldsOf(request);
  const redisplay = () => seeOther(response, `${path}?${new URLSearchParams({ ticket: value })}`);
  // The form must have been shown in this very browser, so that another site cannot post it to log somebody in.
  const browser = browserCookie.of(request.get('cookie'));
  if (!browser || !parts.csrf.matches(`${value} ${browser}`, csrf)) {
    if (await stored.find(value))
      await parts.pageMemory.note(`link ${value}`, {}, { step: path, problems: ['refused'], status: 400 });
    return redisplay();
  }
  const link = await stored.redeem(value);
  const ip = addressOf(request);
  const asked = link && { clientId: link.clientId, request, ip };
  const account = asked && (await parts.openAccount('email', link.connection, link.email, asked));
  if (link && account instanceof SignUpDenied)
    return sendForm(parts, request, response, {
      value,
      link,
      said: account.said,
      problems: ['signup_denied'],
      status: 403,
    });
  if (!link || !account || account instanceof SignUpDenied) return redisplay();
  const { clientId, connection } = link;
  const ticket = { account, clientId, connection, amr: ['otp'], browser };
  const query = { ...link.params, client_id: link.clientId, login_ticket: await parts.tickets.issue(ticket) };
  parts.report.loggedIn(account, link.clientId, ip, ['otp']);
  seeOther(response, `/authorize?${new URLSearchParams(query)}`);
}

function pastLinkOf({ params, ...link }: LoginLink): PastLoginLink {
  const uiLocales = params.ui_locales && { uiLocales: params.ui_locales.slice(0, 200) };
  return { ...link, ...uiLocales, ...(JSON.stringify(params).length <= keptMax && { params }) };
}

/** Parameters that the link itself determines, which the request cannot override. */
const reservedParams = new Set(['client_id', 'connection', 'login_ticket', 'request', 'request_uri', 'email']);
const paramsMax = 30;

/**
 * The authorization request in `authParams`. @throws ApiError 400 for a redirect URI that the client does not have, before any mail is
 * sent
 */
export function linkParams(given: unknown, client: Client): Record<string, string> {
  const entries = Object.entries(typeof given === 'object' && given !== null ? given : {});
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const params = Object.fromEntries(texts.filter(([name]) => !reservedParams.has(name)));
  if (texts.length > paramsMax || tooLong(params) !== undefined)
    throw new ApiError(400, 'bad.authParams', 'too many or too long authParams', { code: 'bad.authParams' });
  const { redirect_uri } = params;
  if (redirect_uri !== undefined && !client.redirectUris?.includes(redirect_uri))
    throw new ApiError(400, 'bad.redirect_uri', 'redirect_uri is not among the callbacks of the application', {
      code: 'bad.redirect_uri',
    });
  return { response_type: 'code', ...params };
}
