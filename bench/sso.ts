/** A person at the application: logs in on the hosted pages, and returns with the session. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { app, appRequest, keeper, modern, type people } from './gate-seed.ts';

const { code_verifier, ...challenge } = pkce();
const request = { ...appRequest, ...challenge };

/** The authorization request of somebody with a session, and the token request without its code. */
export const ssoPath = `/authorize?${new URLSearchParams({ ...request, prompt: 'none' })}`;
export const codeForm = new URLSearchParams({
  grant_type: 'authorization_code',
  client_id: app.client_id,
  redirect_uri: appRequest.redirect_uri,
  code_verifier,
}).toString();

/** The same for an application with another signature. */
export const modernPath = ssoPath.replace(app.client_id, modern.client_id);
export const modernForm = codeForm.replace(app.client_id, modern.client_id);

/** The same for an application that keeps a refresh token, and its refresh without the token. */
export const keepPath = `/authorize?${new URLSearchParams({ ...request, client_id: keeper.client_id, scope: `${request.scope} offline_access`, prompt: 'none' })}`;
export const keepForm = codeForm.replace(app.client_id, keeper.client_id);
export const refreshForm = new URLSearchParams({ grant_type: 'refresh_token', client_id: keeper.client_id }).toString();

/** Logs the person in and exchanges the code; resolves to the browser with its session. @throws when any of it fails */
export async function logIn(issuer: string, person: (typeof people)[number]): Promise<Browser> {
  const browser = new Browser({ issuer });
  const page = await browser.authorize(request);
  await exchange(issuer, (await browser.logIn(page, person.email, person.password)).location);
  return browser;
}

/** One flow with the browser's session. @throws when it fails */
export async function signInWithSession(issuer: string, browser: Browser): Promise<void> {
  await exchange(issuer, (await browser.get(ssoPath)).location);
}

/** The tokens of one flow with the browser's session. @throws when it fails */
export async function tokensOf(issuer: string, browser: Browser, path: string, form: string): Promise<Tokens> {
  return exchange(issuer, (await browser.get(path)).location, form);
}

type Tokens = { access_token: string; refresh_token?: string };

async function exchange(issuer: string, location: URL | undefined, form = codeForm): Promise<Tokens> {
  const code = location?.searchParams.get('code');
  if (!code) throw new Error(`no code, but ${location?.search ?? 'a page'}`);
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(`${form}&code=${code}`),
  });
  if (!response.ok) throw new Error(`the code was answered with ${response.status}: ${await response.text()}`);
  return (await response.json()) as Tokens;
}
