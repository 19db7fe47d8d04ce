/** The page behind the link of a password mail. */
import express, { type Request, type Response, type Router } from 'express';
import type { PeopleActions } from '../actions/people.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { addressOf } from '../http/head.ts';
import { networkOf } from '../http/network.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import { type Asker, type DeadLinkParts, type DeadLinks, makeDeadLinks } from '../interaction/dead-link.ts';
import { linkBack, rememberedClient } from '../interaction/way-back.ts';
import type { NotifyOfChange } from '../mail/change-notice.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { AttemptLimits } from '../protection/attempt-limits.ts';
import type { BreachedPasswords } from '../protection/breached/breached-passwords.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { busy } from '../stores-away.ts';
import type { AccountTickets } from './account-ticket.ts';
import { endAccess, sessionsEnd, waitForSessionsEnd } from './end-access.ts';
import {
  type FirstProofParts,
  type RemovedSignIns,
  removeUnverifiedSignIns,
  reportRemovedSignIns,
} from './first-proof.ts';
import { hashPassword, TooBusy } from './password.ts';
import type { SendPasswordMail } from './password-mail.ts';
import { withResult } from './result-url.ts';
import { passwordMinLength, passwordProblem } from './signup.ts';
import type { AccountStore } from './store.ts';
import { subjectOf } from './subject.ts';

export type ChangePasswordParts = DeadLinkParts & {
  accounts: AccountStore;
  connections: ConnectionStore;
  passwordTickets: AccountTickets;
  attemptLimits: AttemptLimits;
  breached: Pick<BreachedPasswords, 'refusesChange'>;
  sendPasswordMail: SendPasswordMail;
  notifyOfChange: NotifyOfChange;
  report: Report;
  people: PeopleActions;
} & FirstProofParts;

const path = '/change-password';
const donePath = `${path}/done`;

export function makeChangePasswordRoutes(parts: ChangePasswordParts): Router {
  const deadLinks = makeDeadLinks(parts, {
    path,
    sentPage: 'password-mail-sent',
    find: parts.passwordTickets.past,
    renew: ({ userId, email, clientId }, asker) =>
      // An account without an address gets its links from an administrator.
      email === ''
        ? undefined
        : async () => {
            const account = await parts.accounts.find(userId);
            return sendTo(parts, { email, clientId, connection: account?.connection }, asker);
          },
    sendTo: (email, client, asker) => sendTo(parts, { email, clientId: client?.clientId }, asker),
  });
  const router = express.Router();
  router.get(path, (request, response) => showForm(parts, deadLinks, request, response));
  router.post(path, (request, response) => changePassword(parts, request, response));
  router.get(donePath, (request, response) => showDone(parts, request, response));
  router.use(deadLinks.router);
  return router;
}

const addressOfLink = (value: string) => `${path}?${new URLSearchParams({ ticket: value })}`;
const ownerOf = (value: string) => `link ${value}`;

async function showForm(parts: ChangePasswordParts, deadLinks: DeadLinks, request: Request, response: Response) {
  const { passwordTickets, pageMemory, csrf } = parts;
  setRoute(response, path);
  const { ticket: value = '' } = queryOf(request);
  const ticket = await passwordTickets.find(value);
  if (!ticket) {
    const past = await passwordTickets.past(value);
    if (past?.resultUrl)
      return seeOther(response, withResult({ ...past, resultUrl: past.resultUrl }, past.isUsed ? 'used' : 'expired'));
    return deadLinks.show(request, response, value);
  }
  const { outcome } = await pageMemory.recall(ownerOf(value));
  const params = { ui_locales: ticket.uiLocales, redirect_uri: ticket.resultUrl };
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), params });
  const problems = outcome?.problems ?? [];
  const hidden = { ticket: value, csrf: csrf.tokenFor(value) };
  const { username, phoneNumber } = ticket.account;
  const email = ticket.email || username || phoneNumber || '';
  const page = { action: path, hidden, email, passwordMinLength, problems };
  sendPage(response, 'new-password', { ...common, ...page }, problems.length > 0 ? 400 : 200);
}

async function changePassword(parts: ChangePasswordParts, request: Request, response: Response) {
  const { passwordTickets, pageMemory, csrf } = parts;
  setRoute(response, path);
  const { ticket: value = '', password, csrf: token } = fieldsOf(request);
  const redisplay = async (problem?: ProblemName) => {
    if (problem) await pageMemory.note(ownerOf(value), {}, { step: path, problems: [problem] });
    seeOther(response, addressOfLink(value));
  };
  const ticket = await passwordTickets.find(value);
  if (!ticket) return redisplay();
  if (!csrf.matches(value, token)) return redisplay('refused');
  const problem = passwordProblem(password, ticket.email);
  if (problem) return redisplay(problem);
  const ip = addressOf(request);
  const network = networkOf(ip);
  const { userId } = ticket.account;
  if (await parts.breached.refusesChange(password!, userId, { ip, network, clientId: ticket.clientId }))
    return redisplay('password_leaked');
  const passwordHash = await hashPassword(password!, { network, account: userId }).catch((error) => {
    throw error instanceof TooBusy ? busy(error.excess) : error;
  });
  // The ticket is spent only now, so that a refused password can be replaced by another.
  const redeemed = await passwordTickets.redeem(value);
  if (!redeemed) return redisplay();
  // Ends everything that somebody with the old password may hold.
  const mark = sessionsEnd();
  const proven = {
    ...(!redeemed.unproven && { emailVerified: true }),
    lastPasswordReset: new Date(),
    sessionsNotBefore: mark,
  };
  const isFirstProof = !redeemed.unproven && !redeemed.account.emailVerified;
  let removed: RemovedSignIns | undefined;
  // The write succeeds only for the exact account that the link was made for, and not without what it ends: the link is spent, and the
  // address counts as proven from now on.
  const changed = await parts.accounts.updateState(
    redeemed.account,
    { passwordHash, ...proven },
    async (transaction, { userId, linkedTo }) => {
      if (linkedTo !== null)
        await transaction.account.update({ where: { userId: linkedTo }, data: { sessionsNotBefore: mark } });
      else if (isFirstProof) removed = await removeUnverifiedSignIns(transaction, userId);
      await endAccess(transaction, linkedTo ?? userId);
    },
  );
  if (!changed) return redisplay();
  const ownerId = changed.linkedTo ?? changed.userId;
  if (removed) await reportRemovedSignIns(parts, changed, removed, { ip });
  await waitForSessionsEnd(mark);
  // Somebody locked out for guessing at the old password may use the new one (as at Auth0).
  await parts.attemptLimits.clear(subjectOf(changed.connection, ticket.email, changed).key, ip);
  parts.report.passwordChanged(ownerId, ip);
  // Anybody who reads the owner's mail gets such a link too, so the owner is told that it was used.
  parts.notifyOfChange({ name: 'password_changed' }, changed, { ip });
  await parts.people.afterPasswordChange(changed, { request, ip });
  const { resultUrl } = redeemed;
  seeOther(
    response,
    resultUrl
      ? withResult({ ...redeemed, resultUrl }, 'changed')
      : `${donePath}?${new URLSearchParams({ ticket: value })}`,
  );
}

async function showDone(parts: ChangePasswordParts, request: Request, response: Response) {
  const { passwordTickets, provider } = parts;
  setRoute(response, donePath);
  const { ticket: value = '' } = queryOf(request);
  const past = await passwordTickets.past(value);
  if (!past?.isUsed) return seeOther(response, addressOfLink(value));
  const client =
    (past.clientId ? await provider.Client.find(past.clientId) : undefined) ??
    (await rememberedClient(provider, provider.createContext(request, response)));
  const back = linkBack(client);
  const params = { ui_locales: past.uiLocales };
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language'), client, params });
  sendPage(response, 'password-changed', { ...common, ...(back && { back }) });
}

async function sendTo(
  { connections, sendPasswordMail }: ChangePasswordParts,
  { email, clientId, ...of }: { email: string; clientId: string | undefined; connection?: string | undefined },
  asker: Asker,
): Promise<'sent' | 'too_many'> {
  const connection = of.connection ?? (await connections.database(clientId))?.name;
  const asked = connection && { connection, email, ...asker, ...(clientId && { clientId }) };
  return asked && (await sendPasswordMail(asked)) === 'too_many' ? 'too_many' : 'sent';
}
