/**
 * Auth0's passwordless API: `passwordless/start` sends a code or a link (link.ts), `passwordless/verify` looks at a code,
 * `verify_redirect` logs in by one.
 */
import express, { type Router } from 'express';
import type { Client, Provider } from 'oidc-provider';
import { parseIdentifier } from '../accounts/identifier.ts';
import type { OneTimeCodes } from '../accounts/one-time-code.ts';
import type { TicketStore } from '../authorization/login-ticket.ts';
import type { GateEvents } from '../events.ts';
import { ApiError } from '../http/api-error.ts';
import { type ApiHandler, makeApiRouter, textField } from '../http/api-router.ts';
import { addressOf } from '../http/head.ts';
import { setRoute } from '../http/route.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { asking } from '../stores-away.ts';
import type { OpenAccount } from './account.ts';
import { type Link, linkParams, type SendLink } from './link.ts';
import type { Channel } from './message.ts';
import type { SendCode } from './send-code.ts';

export type PasswordlessParts = {
  provider: Provider;
  connections: ConnectionStore;
  codes: OneTimeCodes;
  sendCode: SendCode;
  sendLink: SendLink;
  openAccount: OpenAccount;
  tickets: TicketStore;
  events: GateEvents;
};

type Target = { channel: Channel; connection: string; address: string };

export function makePasswordlessRoutes(parts: PasswordlessParts): Router {
  const router = express.Router();
  router.use(
    makeApiRouter(parts.provider, { '/passwordless/start': start(parts), '/passwordless/verify': verify(parts) }),
  );
  router.get('/passwordless/verify_redirect', async (request, response) => {
    setRoute(response, '/passwordless/verify_redirect');
    const query = request.query as Record<string, string>;
    const client = query.client_id ? await parts.provider.Client.find(query.client_id) : undefined;
    const target = await targetOf(parts, query);
    if (!client) throw new ApiError(400, 'invalid_request', 'missing or unknown client_id');
    const { connection, address, channel } = target;
    const check = await parts.codes.check(
      { connection, address, binding: client.clientId },
      query.verification_code ?? '',
    );
    const account = check === 'right' ? await parts.openAccount(channel, connection, address) : undefined;
    const forward = new URLSearchParams(query);
    for (const name of ['connection', 'verification_code', 'email', 'phone_number']) forward.delete(name);
    if (account) {
      parts.events.loggedIn(account, client.clientId, addressOf(request), ['otp']);
      const ticket = { account, clientId: client.clientId, amr: ['otp'] };
      forward.set('login_ticket', await parts.tickets.issue(ticket));
    }
    // A wrong code leads to the login page: the request's own redirect URI is checked there, not here.
    response
      .set('cache-control', 'no-store')
      .set('referrer-policy', 'no-referrer')
      .redirect(302, `/authorize?${forward}`);
  });
  return router;
}

/** The same answer whether or not anybody has that address. */
function start(parts: PasswordlessParts): ApiHandler {
  return async ({ fields, client, request, response }) => {
    const target = await targetOf(parts, fields);
    const ip = addressOf(request);
    const sent = wantsLink(fields, target.channel)
      ? await parts.sendLink(linkOf(fields, client, target), ip)
      : await parts.sendCode({ ...target, binding: client.clientId, ip });
    if (sent === 'too_many')
      throw new ApiError(429, 'too_many_requests', 'too many codes were asked for; try again later');
    const { channel, address } = target;
    response.json(
      channel === 'email'
        ? { email: address, email_verified: false }
        : { phone_number: address, phone_verified: false },
    );
  };
}

/** Without `send` a code: it needs nothing else of the request, and works for programs as well. */
function wantsLink({ send }: Record<string, unknown>, channel: Channel): boolean {
  if (send === undefined || send === null || send === 'code') return false;
  if (send === 'link' && channel === 'email') return true;
  throw new ApiError(400, 'bad.send', 'send must be code, or link for an email connection', { code: 'bad.send' });
}

function linkOf(fields: Record<string, unknown>, client: Client, { connection, address }: Target): Link {
  return { connection, email: address, clientId: client.clientId, params: linkParams(fields.authParams, client) };
}

/** Says whether the code is right, and leaves it for `verify_redirect` or the token endpoint; a wrong try counts. */
function verify(parts: PasswordlessParts): ApiHandler {
  return async ({ fields, client, response }) => {
    const { connection, address } = await targetOf(parts, fields);
    const code = textField(fields, 'verification_code') ?? textField(fields, 'otp') ?? '';
    const check = await parts.codes.check({ connection, address, binding: client.clientId }, code, true);
    if (check !== 'right')
      throw new ApiError(403, 'invalid_grant', 'Wrong email, phone number or verification code.', {
        code: 'invalid_user_password',
      });
    response.json({ verified: true });
  };
}

async function targetOf(parts: PasswordlessParts, fields: Record<string, unknown>): Promise<Target> {
  const name = textField(fields, 'connection');
  const connection = name ? await asking(parts.connections.find(name)) : undefined;
  if (connection?.strategy !== 'email' && connection?.strategy !== 'sms')
    throw new ApiError(400, 'bad.connection', 'missing or unknown connection', { code: 'bad.connection' });
  const channel: Channel = connection.strategy;
  const field = channel === 'email' ? 'email' : 'phone_number';
  const identifier = parseIdentifier(textField(fields, field));
  if (identifier?.kind !== (channel === 'email' ? 'email' : 'phone'))
    throw new ApiError(400, `bad.${field}`, `missing or malformed ${field}`, { code: `bad.${field}` });
  return { channel, connection: connection.name, address: identifier.value };
}
