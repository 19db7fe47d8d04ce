/**
 * `/account`: people manage their own account. Each page answers GET, and each form is answered by a redirect to a page, as in a login. The
 * session that any application's login leaves in the browser identifies the person; forms carry a token of that session.
 */
import { type Request, type Response, Router } from 'express';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import { showActivity } from './activity.ts';
import { additionPages, confirmCodesSaved, showCodes } from './add-factor.ts';
import { disconnect, showApplications } from './applications.ts';
import { callbackPath } from './client.ts';
import { deletionPath, download, downloadPath, showData } from './data.ts';
import { endDevices, showDevices } from './devices.ts';
import { changeEmail, showEmail } from './email.ts';
import { deleteAccount, deletedPath, showDeleted, showDeletion } from './leave.ts';
import { showOverview } from './overview.ts';
import type { AccountParts } from './parts.ts';
import { changePassword, showPassword } from './password.ts';
import { changeProfile, showProfile } from './profile.ts';
import {
  changeSecurity,
  codesPath,
  makeCodes,
  newCodesPath,
  removalPath,
  remove,
  securityPath,
  showNewCodes,
  showRemoval,
  showSecurity,
} from './security.ts';
import { isSelfService } from './settings.ts';
import { changeSignIns, showSignIns } from './sign-ins.ts';
import { notFound, openVisit, type Visit } from './visit.ts';

type Handler = (visit: Visit, request: Request) => Promise<void>;
type AccountPage = {
  path: string;
  needsFresh?: boolean;
  /** Parameters that a sign-in on the way to the page keeps. */
  told?: string[];
  show: Handler;
  answer?: Handler;
};

const pages: AccountPage[] = [
  { path: '/account', show: showOverview },
  { path: '/account/profile', show: showProfile, answer: changeProfile },
  { path: '/account/email', needsFresh: true, show: showEmail, answer: changeEmail },
  // This page asks for the old password instead.
  { path: '/account/password', show: showPassword, answer: changePassword },
  { path: securityPath, needsFresh: true, show: showSecurity, answer: changeSecurity },
  ...additionPages,
  { path: removalPath, needsFresh: true, show: showRemoval, answer: remove },
  { path: newCodesPath, needsFresh: true, show: showNewCodes, answer: makeCodes },
  { path: codesPath, needsFresh: true, show: showCodes, answer: confirmCodesSaved },
  // A link may take longer than the login is fresh (upstream/link.ts).
  {
    path: '/account/sign-ins',
    needsFresh: true,
    told: ['linked', 'link_error'],
    show: showSignIns,
    answer: changeSignIns,
  },
  { path: '/account/devices', show: showDevices, answer: endDevices },
  { path: '/account/applications', show: showApplications, answer: disconnect },
  { path: '/account/activity', show: showActivity },
  { path: '/account/data', needsFresh: true, show: showData },
  { path: downloadPath, needsFresh: true, show: download },
  { path: deletionPath, needsFresh: true, show: showDeletion, answer: deleteAccount },
];

/** Requests per person; each takes a few statements, and a page is not meant to be polled. */
const perPerson = { max: 300, windowSeconds: 60 };

export function makeAccountRoutes(parts: AccountParts): Router {
  const router = Router();
  const open = async (request: Request, response: Response, page: AccountPage) => {
    setRoute(response, page.path);
    if (!isSelfService(await parts.settings.load())) throw notFound();
    const returnTo = addressOf(page, new URL(request.originalUrl, parts.issuer).searchParams);
    const visit = await openVisit(parts, { request, response, returnTo, needsFresh: page.needsFresh ?? false });
    if (!visit) return undefined;
    const { max, windowSeconds } = perPerson;
    if (await parts.rate.take('account-pages', visit.account.userId, max, windowSeconds)) return visit;
    response.set('retry-after', String(windowSeconds));
    const common = await parts.commonContext({ acceptLanguage: request.get('accept-language') });
    sendPage(response, 'too-many-attempts', { ...common, back: '/account', minutes: 1 }, 429);
    return undefined;
  };
  for (const page of pages) {
    router.get(page.path, async (request, response) => {
      const visit = await open(request, response, page);
      if (visit) await page.show(visit, request);
    });
    const { answer } = page;
    if (!answer) continue;
    router.post(page.path, async (request, response) => {
      const visit = await open(request, response, page);
      if (!visit) return;
      visit.checkCsrf(fieldsOf(request).csrf);
      await answer(visit, request);
    });
  }
  router.get(callbackPath, (request, response) => handleSignInCallback(parts, request, response));
  router.get(deletedPath, (request, response) => {
    setRoute(response, deletedPath);
    return showDeleted(parts, request, response);
  });
  return router;
}

/** The page with what it may be told, and nothing else. */
function addressOf({ path, told = [] }: AccountPage, query: URLSearchParams): string {
  const kept = new URLSearchParams([...query].filter(([name]) => told.includes(name)));
  return kept.size > 0 ? `${path}?${kept}` : path;
}

/** Returns from the sign-in to the page that needed it. */
async function handleSignInCallback(parts: AccountParts, request: Request, response: Response): Promise<void> {
  setRoute(response, callbackPath);
  const { state = '', error } = queryOf(request);
  const [path, query] = state.split('?', 2);
  const page = pages.find((each) => each.path === path);
  if (error === undefined) return seeOther(response, page ? addressOf(page, new URLSearchParams(query)) : '/account');
  const common = await parts.commonContext({ acceptLanguage: request.get('accept-language') });
  // Anybody can make up such an address, so its text is not repeated to the reader. The log says what went wrong.
  sendPage(response, 'error', { ...common, error: 'access_denied', back: '/account' }, 403);
}
