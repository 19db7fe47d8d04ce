/**
 * Auth0’s passwordless API: `passwordless/start` sends a code or a link (link.ts), `passwordless/verify` checks a code,
 * `verify_redirect` logs in with one.
 */
import express, { type Request, type Router } from 'express';
import type { Client, Provider } from 'oidc-provider';
import type { CheckCode } from '../accounts/check-code.ts';
import { parseIdentifier } from '../accounts/identifier.ts';
import type { TicketStore } from '../authorization/login-ticket.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { personAddress } from '../clients/person-address.ts';
import { secretMatches } from '../clients/secret.ts';
import type { ClientThrottle } from '../clients/throttle.ts';
import { ApiError } from '../http/api-error.ts';
import { type ApiHandler, makeApiRouter, textField } from '../http/api-router.ts';
import { addressOf } from '../http/head.ts';
import { setRoute } from '../http/route.ts';
import { languagesOf } from '../mail/language.ts';
import type { Bots } from '../protection/bots.ts';
import { checkPerson } from '../protection/refused-challenge.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { busy, tooMany } from '../stores-away.ts';
import { type OpenAccount, SignUpDenied } from './account.ts';
import { apiCodeRequest } from './code-request.ts';
import { type LoginLink, linkParams, type SendLink } from './link.ts';
import { amrOf, type Channel } from './message.ts';
import type { SendCode } from './send-code.ts';

export type PasswordlessParts = {
  provider: Provider;
  connections: ConnectionStore;
  checkCode: CheckCode;
  sendCode: SendCode;
  sendLink: SendLink;
  openAccount: OpenAccount;
  tickets: TicketStore;
  clientThrottle: ClientThrottle;
  bots: Bots;
  report: Report;
};

type Target = { channel: Channel; connection: string; recipient: string };

export function makePasswordlessRoutes(parts: PasswordlessParts): Router {
  const router = express.Router();
  router.use(
    makeApiRouter(parts.provider, { '/passwordless/start': start(parts), '/passwordless/verify': verify(parts) }),
  );
  router.get('/passwordless/verify_redirect', async (request, response) => {
    setRoute(response, '/passwordless/verify_redirect');
    refuseEmbedded(request);
    const fields = request.query as Record<string, unknown>;
    const clientId = textField(fields, 'client_id');
    const client = clientId ? await parts.provider.Client.find(clientId) : undefined;
    const target = await targetOf(parts, fields, clientId);
    if (!client) throw new ApiError(400, 'invalid_request', 'missing or unknown client_id');
    const { connection, recipient, channel } = target;
    const code = textField(fields, 'verification_code') ?? '';
    const ip = addressOf(request);
    const right = await check(parts, { ip, client, target, code });
    const asked = { clientId: client.clientId, request, ip };
    const account = right ? await parts.openAccount(channel, connection, recipient, asked) : undefined;
    if (account instanceof SignUpDenied) throw new ApiError(403, 'access_denied', account.said);
    // Passed on unchanged: the authorization endpoint decides which parameters may be repeated.
    const forward = new URL(request.url, 'http://gate').searchParams;
    for (const name of ['connection', 'verification_code', 'email', 'phone_number']) forward.delete(name);
    if (account) {
      const amr = amrOf(channel);
      const ticket = { account, clientId: client.clientId, connection, amr };
      forward.set('login_ticket', await parts.tickets.issue(ticket));
      parts.report.loggedIn(account, client.clientId, ip, amr);
    }
    // A wrong code leads to the login page: the request's own redirect URI is checked there, not here.
    response
      .set('cache-control', 'no-store')
      .set('referrer-policy', 'no-referrer')
      .redirect(302, `/authorize?${forward}`);
  });
  return router;
}

/**
 * Must be a top-level navigation. Otherwise another site's image or frame could make a visitor’s browser, in the visitor’s own network,
 * spend codes and tries unnoticed. Old browsers do not send the header that says what they request. @throws ApiError 403
 */
function refuseEmbedded(request: Request): void {
  const destination = request.get('sec-fetch-dest') ?? 'document';
  if (destination !== 'document')
    throw new ApiError(403, 'access_denied', 'this address can only be opened as a page of its own');
}

/** Gives the same answer whether or not anybody has that address. */
function start(parts: PasswordlessParts): ApiHandler {
  return async ({ fields, client, request, response }) => {
    const target = await targetOf(parts, fields, client.clientId);
    const ip = await askerAddress(parts, { request, client, fields });
    const { clientId } = client;
    // A server that has authenticated has login pages of its own and is responsible for challenges there.
    const isServer = client.clientAuthMethod !== 'none' && textField(fields, 'client_secret') !== undefined;
    const asking = { stage: 'passwordless', ip, clientId, login: target.recipient } as const;
    if (!isServer) await checkPerson(parts.bots, asking, textField(fields, 'captcha'));
    const languages = languagesOf(request);
    const link = wantsLink(fields, target.channel) ? linkOf(fields, client, target) : undefined;
    const sent = link
      ? await parts.sendLink(link, ip, { ...languages, uiLocales: link.params.ui_locales })
      : await parts.sendCode({
          channel: target.channel,
          ip,
          clientId,
          languages,
          ...apiCodeRequest({ ...target, clientId, ip }),
        });
    if (sent === 'too_many')
      throw new ApiError(429, 'too_many_requests', 'too many codes were asked for; try again later');
    const { channel, recipient } = target;
    response.json(
      channel === 'email'
        ? { email: recipient, email_verified: false }
        : { phone_number: recipient, phone_verified: false },
    );
  };
}

/** A code is the default: it needs nothing else from the request, and also works for programs. */
function wantsLink({ send }: Record<string, unknown>, channel: Channel): boolean {
  if (send === undefined || send === null || send === 'code') return false;
  if (send === 'link' && channel === 'email') return true;
  throw new ApiError(400, 'bad.send', 'send must be code, or link for an email connection', { code: 'bad.send' });
}

function linkOf(fields: Record<string, unknown>, client: Client, { connection, recipient }: Target): LoginLink {
  return { connection, email: recipient, clientId: client.clientId, params: linkParams(fields.authParams, client) };
}

/** Says whether the code is right without spending it, so that `verify_redirect` or the token endpoint can use it; a wrong try counts. */
function verify(parts: PasswordlessParts): ApiHandler {
  return async ({ fields, client, request, response }) => {
    const target = await targetOf(parts, fields, client.clientId);
    const code = textField(fields, 'verification_code') ?? textField(fields, 'otp') ?? '';
    const ip = await askerAddress(parts, { request, client, fields });
    if (!(await check(parts, { ip, client, target, code, keep: true })))
      throw new ApiError(403, 'invalid_grant', 'Wrong email, phone number or verification code.', {
        code: 'invalid_user_password',
      });
    response.json({ verified: true });
  };
}

/**
 * The person's network address. A server asks for many people from one address: if it sends its secret, which is optional here, it may
 * state whose request it is. @throws ApiError 401 for a wrong secret, 429 for too many
 */
async function askerAddress(
  { clientThrottle, report }: PasswordlessParts,
  { request, client, fields }: { request: Request; client: Client & OwnMetadata; fields: Record<string, unknown> },
): Promise<string> {
  const secret = textField(fields, 'client_secret');
  if (secret === undefined || client.clientAuthMethod === 'none')
    return personAddress(request, { client, isAuthenticated: false, report });
  const { clientId } = client;
  const own = addressOf(request);
  const closed = clientThrottle.closedFor(clientId, own);
  if (closed !== undefined)
    throw tooManyAttempts(closed, 'client authentication has failed too often from this address');
  if (!secretMatches(secret, client.secret_hashes)) {
    await clientThrottle.failed(clientId, own);
    throw new ApiError(401, 'invalid_client', 'client authentication failed');
  }
  clientThrottle.succeeded(clientId, own);
  return personAddress(request, { client, isAuthenticated: true, report });
}

/** Whether the code is right. @throws ApiError 429 or 503 if it was not checked */
async function check(
  parts: PasswordlessParts,
  given: { ip: string; client: Client; target: Target; code: string; keep?: boolean },
): Promise<boolean> {
  const { ip, client, target, code, keep = false } = given;
  const asked = apiCodeRequest({ ...target, clientId: client.clientId, ip });
  const answer = await parts.checkCode({ channel: target.channel, asked, code, ip, keep });
  const where = { client, address: ip };
  switch (answer.kind) {
    case 'right':
      return true;
    case 'wrong':
      parts.report.loginFailed(where, 'wrong_code', answer.subject);
      return false;
    case 'expired':
      parts.report.loginFailed(where, 'code_expired', answer.subject);
      return false;
    case 'locked':
      parts.report.loginFailed(where, answer.reason, answer.subject);
      throw tooManyAttempts(answer.seconds, tooMany[answer.reason]);
    case 'busy':
      throw busy();
  }
}

function tooManyAttempts(retryAfterSeconds: number, description: string): ApiError {
  return Object.assign(new ApiError(429, 'too_many_attempts', description), { retryAfterSeconds });
}

async function targetOf(
  parts: PasswordlessParts,
  fields: Record<string, unknown>,
  clientId: string | undefined,
): Promise<Target> {
  const name = textField(fields, 'connection');
  const connection = name ? await parts.connections.find(name, clientId) : undefined;
  if (connection?.strategy !== 'email' && connection?.strategy !== 'sms')
    throw new ApiError(400, 'bad.connection', 'missing or unknown connection', { code: 'bad.connection' });
  const channel: Channel = connection.strategy;
  const field = channel === 'email' ? 'email' : 'phone_number';
  const identifier = parseIdentifier(textField(fields, field));
  if (identifier?.kind !== (channel === 'email' ? 'email' : 'phone'))
    throw new ApiError(400, `bad.${field}`, `missing or malformed ${field}`, { code: `bad.${field}` });
  return { channel, connection: connection.name, recipient: identifier.value };
}
