/** The page behind the link of a password mail. */
import express, { type Request, type Response, type Router } from 'express';
import type { Provider } from 'oidc-provider';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { networkOf } from '../http/network.ts';
import { sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { MakeCommonContext } from '../interaction/common-context.ts';
import type { Csrf } from '../interaction/csrf.ts';
import { linkBack } from '../interaction/way-back.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { Report } from '../report.ts';
import { busy } from '../stores-away.ts';
import { type EndAccess, sessionsEnd, sessionsEnded } from './end-access.ts';
import { hashPassword, TooBusy } from './password.ts';
import type { PasswordTicket, PasswordTickets } from './password-ticket.ts';
import { passwordMinLength, passwordProblem } from './signup.ts';
import type { AccountStore } from './store.ts';

export type ChangePasswordParts = {
  provider: Provider;
  accounts: AccountStore;
  tickets: PasswordTickets;
  endAccess: EndAccess;
  csrf: Csrf;
  commonContext: MakeCommonContext;
  report: Report;
};

const path = '/change-password';

export function makeChangePasswordRoutes(parts: ChangePasswordParts): Router {
  const router = express.Router();
  router.get(path, async (request, response) => {
    setRoute(response, path);
    const { ticket: value = '' } = queryOf(request);
    const ticket = await parts.tickets.find(value);
    if (!ticket) return showExpired(parts, request, response);
    await showForm(parts, request, response, value, ticket);
  });
  router.post(path, async (request, response) => {
    setRoute(response, path);
    const { ticket: value = '', password, csrf } = fieldsOf(request);
    const ticket = await parts.tickets.find(value);
    if (!ticket || !parts.csrf.matches(value, csrf)) return showExpired(parts, request, response);
    const problem = passwordProblem(password, ticket.email);
    if (problem) return showForm(parts, request, response, value, ticket, problem);
    const asker = { network: networkOf(addressOf(request)), account: ticket.account.userId };
    const passwordHash = await hashPassword(password!, asker).catch((error) => {
      throw error instanceof TooBusy ? busy(error.excess) : error;
    });
    // The ticket is spent only now, so that after a refused password another can be chosen.
    const redeemed = await parts.tickets.redeem(value);
    if (!redeemed) return showExpired(parts, request, response);
    // Ends everything that somebody with the old password may hold.
    const mark = sessionsEnd();
    const proven = { emailVerified: true, lastPasswordReset: new Date(), sessionsNotBefore: mark };
    // The write succeeds only for the very account that the link was made for.
    const changed = await parts.accounts.updateState(redeemed.account, { passwordHash, ...proven });
    if (!changed) return showExpired(parts, request, response);
    const ownerId = changed.linkedTo ?? changed.userId;
    if (changed.linkedTo !== null) await parts.accounts.update(ownerId, { sessionsNotBefore: mark });
    await parts.endAccess(ownerId);
    await sessionsEnded(mark);
    parts.report.passwordChanged(ownerId, addressOf(request));
    const client = ticket.clientId ? await parts.provider.Client.find(ticket.clientId) : undefined;
    const back = linkBack(client);
    const common = await parts.commonContext({ acceptLanguage: request.get('accept-language') });
    sendPage(response, 'password-changed', { ...common, ...(back ? { back } : {}) });
  });
  return router;
}

async function showForm(
  parts: ChangePasswordParts,
  request: Request,
  response: Response,
  value: string,
  ticket: PasswordTicket,
  problem?: ProblemName,
): Promise<void> {
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language') });
  const hidden = { ticket: value, csrf: parts.csrf.tokenFor(value) };
  const page = { action: path, hidden, email: ticket.email, passwordMinLength, ...(problem ? { problem } : {}) };
  sendPage(response, 'new-password', { ...common, ...page }, problem ? 400 : 200);
}

async function showExpired(parts: ChangePasswordParts, request: Request, response: Response): Promise<void> {
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language') });
  const page = { error: 'invalid_request', description: 'This link no longer works. Ask for a new one.' };
  sendPage(response, 'error', { ...common, ...page }, 400);
}
