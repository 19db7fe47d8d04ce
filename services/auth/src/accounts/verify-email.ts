/**
 * The page behind the link of a verification mail. The address is confirmed by its form, not by opening it: mail scanners open links,
 * so the owner's own scanner would confirm an address that somebody else signed up with.
 */
import express, { type Request, type Response, type Router } from 'express';
import type { Provider } from 'oidc-provider';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import { type DeadLinkParts, type DeadLinks, makeDeadLinks } from '../interaction/dead-link.ts';
import { linkBack } from '../interaction/way-back.ts';
import type { Report } from '../report.ts';
import { busy } from '../stores-away.ts';
import type { AccountTickets } from './account-ticket.ts';
import { withResult } from './result-url.ts';
import type { AccountStore } from './store.ts';
import { verificationPath as path, type VerificationMails } from './verification-mail.ts';

export type VerifyEmailParts = DeadLinkParts & {
  accounts: AccountStore;
  verificationTickets: AccountTickets;
  verificationMails: VerificationMails;
  report: Report;
};

const donePath = `${path}/done`;

export function makeVerifyEmailRoutes(parts: VerifyEmailParts): Router {
  const { accounts, verificationMails } = parts;
  const deadLinks = makeDeadLinks(parts, {
    path,
    sentPage: 'verification-mail-sent',
    find: parts.verificationTickets.past,
    renew({ userId, email, clientId }, asker) {
      return async () => {
        const account = await accounts.find(userId);
        // If there is nothing to confirm, nothing is sent and the asker cannot tell.
        if (!account || account.blocked || account.email !== email || account.emailVerified) return 'sent';
        const sent = await verificationMails.send({ account, clientId, ...asker });
        if (sent === 'busy') throw busy();
        return sent === 'too_many' ? 'too_many' : 'sent';
      };
    },
  });
  const router = express.Router();
  router.get(path, (request, response) => showForm(parts, deadLinks, request, response));
  router.post(path, (request, response) => verifyEmail(parts, request, response));
  router.get(donePath, (request, response) => showDone(parts, deadLinks, request, response));
  router.use(deadLinks.router);
  return router;
}

const linkTo = (page: string, value: string) => `${page}?${new URLSearchParams({ ticket: value })}`;

async function clientOf(provider: Provider, clientId: string | undefined) {
  return clientId ? provider.Client.find(clientId) : undefined;
}

async function showForm(parts: VerifyEmailParts, deadLinks: DeadLinks, request: Request, response: Response) {
  const { provider, verificationTickets, csrf } = parts;
  setRoute(response, path);
  const { ticket: value = '' } = queryOf(request);
  const ticket = await verificationTickets.find(value);
  if (!ticket) {
    const past = await verificationTickets.past(value);
    const { resultUrl } = past ?? {};
    if (past && resultUrl)
      return seeOther(response, withResult({ ...past, resultUrl }, past.isUsed ? 'used' : 'expired'));
    if (past?.isUsed) return seeOther(response, linkTo(donePath, value));
    return deadLinks.show(request, response, value);
  }
  const client = await clientOf(provider, ticket.clientId);
  const params = { ui_locales: ticket.uiLocales, redirect_uri: ticket.resultUrl };
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params });
  const hidden = { ticket: value, csrf: csrf.tokenFor(value) };
  sendPage(response, 'verify-email', { ...common, action: path, hidden, email: ticket.email });
}

async function verifyEmail(parts: VerifyEmailParts, request: Request, response: Response) {
  const { accounts, verificationTickets, verificationMails, csrf } = parts;
  setRoute(response, path);
  const { ticket: value = '', csrf: token } = fieldsOf(request);
  const ticket = csrf.matches(value, token) ? await verificationTickets.redeem(value) : undefined;
  if (!ticket) return seeOther(response, linkTo(path, value));
  const { account, clientId, resultUrl, uiLocales } = ticket;
  const isNew = !account.emailVerified;
  // The write succeeds only for the exact account that the link was made for.
  const verified = isNew ? await accounts.updateState(account, { emailVerified: true }) : account;
  if (verified && isNew) {
    parts.report.emailVerified(verified, addressOf(request));
    const languages = { uiLocales, acceptLanguage: request.get('accept-language') };
    await verificationMails.welcome({ account: verified, clientId, languages });
  }
  seeOther(
    response,
    resultUrl ? withResult({ ...ticket, resultUrl }, verified ? 'verified' : 'invalid') : linkTo(donePath, value),
  );
}

async function showDone(parts: VerifyEmailParts, deadLinks: DeadLinks, request: Request, response: Response) {
  const { provider, accounts, verificationTickets } = parts;
  setRoute(response, donePath);
  const { ticket: value = '' } = queryOf(request);
  const past = await verificationTickets.past(value);
  const account = past?.isUsed ? await accounts.find(past.userId) : undefined;
  // The address may have changed since.
  if (!past || !account?.emailVerified || account.email !== past.email) return deadLinks.show(request, response, value);
  const client = await clientOf(provider, past.clientId);
  const back = linkBack(client);
  const params = { ui_locales: past.uiLocales };
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params });
  sendPage(response, 'email-verified', { ...common, ...(back && { back }) });
}
