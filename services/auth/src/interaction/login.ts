/** Logging in on the hosted pages. Known and unknown people see the same pages in the same time. */
import type { Request, Response } from 'express';
import { parseIdentifier } from '../accounts/identifier.ts';
import { passwordMinLength } from '../accounts/signup.ts';
import type { Subject } from '../accounts/subject.ts';
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { networkOf } from '../http/network.ts';
import type { IdentifierKind } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { Channel } from '../passwordless/message.ts';
import { busySeconds } from '../stores-away.ts';
import type { Interaction } from './interaction.ts';

/** The ways to log in that this request offers. */
type Ways = {
  identifierFirst: boolean;
  database: ConnectionModel | undefined;
  email: ConnectionModel | undefined;
  sms: ConnectionModel | undefined;
  signup: boolean;
  /** The passwordless connection that the parameter `connection` asked for. */
  direct: boolean;
};

export async function showFirstPage(interaction: Interaction, _request: Request, response: Response): Promise<void> {
  const ways = await waysOf(interaction);
  if (interaction.params.screen_hint === 'signup' && ways.signup) return showSignup(interaction, response);
  return showIdentifier(interaction, ways, textOf(interaction.params.login_hint));
}

/** Identifier-first: who are you? Leads to the password, or straight to a code. */
export async function checkIdentifier(interaction: Interaction, request: Request): Promise<void> {
  const { identifier: typed } = fieldsOf(request);
  const ways = await waysOf(interaction);
  if (!typed?.trim()) return showIdentifier(interaction, ways, typed, 'identifier_missing');
  const identifier = parseIdentifier(typed);
  if (!identifier || !kindsOf(ways).includes(identifier.kind))
    return showIdentifier(interaction, ways, typed, 'identifier_unusable');
  if (ways.database && (identifier.kind !== 'phone' || !ways.sms))
    return showPassword(interaction, ways, identifier.value);
  return startCode(interaction, ways, identifier.value);
}

/** The password, after the identifier or together with it (classic login). */
export async function checkPassword(interaction: Interaction, request: Request, response: Response): Promise<void> {
  const { identifier = '', password = '', action, page } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  if (action === 'code') return startCode(interaction, ways, identifier);
  const again = (problem: ProblemName, status?: number) =>
    page === 'login'
      ? showIdentifier(interaction, ways, identifier, problem, status)
      : showPassword(interaction, ways, identifier, problem, status);
  if (!identifier.trim()) return showIdentifier(interaction, ways, identifier, 'identifier_missing');
  if (!password) return again('password_missing');
  if (!ways.database) return again('wrong_credentials');
  const connection = ways.database.name;
  const result = await parts.authenticate({ connection, login: identifier, password, address: interaction.address });
  switch (result.kind) {
    case 'right':
      return loggedIn(interaction, result.account, ['pwd']);
    case 'wrong':
      parts.report.loginFailed(interaction, 'wrong_password', result.subject);
      return again('wrong_credentials');
    case 'locked':
      return showLocked(interaction, response, result);
    case 'busy':
      response.set('retry-after', String(busySeconds));
      return again('busy', result.excess ? 429 : 503);
  }
}

function showLocked(
  interaction: Interaction,
  response: Response,
  { seconds, subject }: { seconds: number; subject: Subject },
): Promise<void> {
  interaction.parts.report.loginFailed(interaction, 'too_many_attempts', subject);
  response.set('retry-after', String(seconds));
  const page = { back: interaction.path(), minutes: Math.ceil(seconds / 60) };
  return interaction.show('too-many-attempts', page, 429);
}

/** Checks a one-time code, or sends another one. */
export async function checkCode(interaction: Interaction, request: Request, response: Response): Promise<void> {
  const { code = '', identifier = '', action } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  const target = codeTarget(ways, identifier);
  if (!target) return showIdentifier(interaction, ways, identifier, 'identifier_unusable');
  if (action === 'resend') return startCode(interaction, ways, identifier, true);
  if (!code.trim()) return showCode(interaction, ways, target, { problem: 'code_missing' });
  const asked = { connection: target.connection, recipient: target.recipient, binding: interaction.uid };
  const { channel } = target;
  const answer = await parts.checkCode({ channel, asked, code, ip: interaction.address });
  switch (answer.kind) {
    case 'busy':
      response.set('retry-after', String(busySeconds));
      return showCode(interaction, ways, target, { problem: 'busy' }, 503);
    case 'locked':
      return showLocked(interaction, response, answer);
    case 'wrong':
      parts.report.loginFailed(interaction, 'wrong_code', answer.subject);
      return showCode(interaction, ways, target, { problem: 'code_wrong' });
    case 'expired':
      parts.report.loginFailed(interaction, 'code_expired', answer.subject);
      return showCode(interaction, ways, target, { problem: 'code_expired' });
    case 'right':
  }
  const account = await parts.openAccount(
    target.channel,
    target.connection,
    target.recipient,
    interaction.client.clientId,
  );
  if (!account) return showCode(interaction, ways, target, { problem: 'code_wrong' });
  return loggedIn(interaction, account, ['otp']);
}

export async function showSignup(
  interaction: Interaction,
  _response: Response,
  problem?: ProblemName,
  email?: string,
): Promise<void> {
  const ways = await waysOf(interaction);
  if (!ways.signup) return showIdentifier(interaction, ways);
  return interaction.show(
    'signup',
    {
      step: 'signup',
      passwordMinLength,
      login: interaction.path(),
      ...(email === undefined ? {} : { email }),
      ...(problem === undefined ? {} : { problem }),
    },
    problem ? 400 : 200,
  );
}

export async function checkSignup(interaction: Interaction, request: Request, response: Response): Promise<void> {
  const { email, password } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  if (!ways.signup || !ways.database) return showIdentifier(interaction, ways);
  if (!(await parts.rate.take('signups', networkOf(interaction.address), 60, 60)))
    return showSignup(interaction, response, 'busy', email);
  const result = await parts.signUp({ connection: ways.database.name, email, password, ip: interaction.address });
  if (result.kind === 'refused') return showSignup(interaction, response, result.problem, email);
  parts.report.signedUp(result.account, interaction.client.clientId);
  return loggedIn(interaction, result.account, ['pwd']);
}

async function loggedIn(interaction: Interaction, account: AccountModel, amr: string[]): Promise<void> {
  interaction.parts.report.loggedIn(account, interaction.client.clientId, interaction.address, amr);
  await finishLogin(interaction, account, amr);
}

/** Continues the authorization request as this account. */
export async function finishLogin(interaction: Interaction, account: AccountModel, amr: string[]): Promise<void> {
  const { prompt } = interaction;
  const login = { accountId: account.userId, incarnation: account.incarnation, amr };
  await interaction.finish({ ...(prompt === 'select_account' ? { select_account: {} } : {}), login }, false);
}

async function waysOf({ parts, params, client }: Interaction): Promise<Ways> {
  const [settings, connections] = await Promise.all([parts.settings.load(), parts.connections.list(client.clientId)]);
  const asked = connections.find((connection) => connection.name === params.connection);
  const offers = (strategy: string) =>
    asked ? (asked.strategy === strategy ? asked : undefined) : connections.find((one) => one.strategy === strategy);
  const database = offers('auth0');
  return {
    identifierFirst: settings.identifierFirst,
    database,
    // Without identifier-first there is one page with both fields, and no choice of a code.
    email: settings.identifierFirst || !database ? offers('email') : undefined,
    sms: settings.identifierFirst || !database ? offers('sms') : undefined,
    signup: settings.allowSignup && database !== undefined,
    direct: asked !== undefined,
  };
}

function kindsOf(ways: Ways): IdentifierKind[] {
  return [
    ...(ways.database || ways.email ? (['email'] as const) : []),
    ...(ways.sms || ways.database ? (['phone'] as const) : []),
    ...(ways.database ? (['username'] as const) : []),
  ];
}

async function showIdentifier(
  interaction: Interaction,
  ways: Ways,
  identifier?: string,
  problem?: ProblemName,
  status?: number,
): Promise<void> {
  const page = {
    // A phone number finds an account too, but nobody is asked for one if no text message can be sent.
    kinds: kindsOf(ways).filter((kind) => kind !== 'phone' || ways.sms !== undefined),
    ...(identifier ? { identifier } : {}),
    ...(ways.signup ? { signup: interaction.path('signup') } : {}),
    ...(problem ? { problem } : {}),
  };
  if (ways.identifierFirst || !ways.database)
    return interaction.show('identifier', { step: 'identifier', ...page }, status ?? (problem ? 400 : 200));
  const forgot = interaction.path('forgot-password');
  return interaction.show(
    'login',
    { step: 'password', hidden: { page: 'login' }, forgot, ...page },
    status ?? (problem ? 400 : 200),
  );
}

function showPassword(
  interaction: Interaction,
  ways: Ways,
  identifier: string,
  problem?: ProblemName,
  status?: number,
): Promise<void> {
  return interaction.show(
    'password',
    {
      step: 'password',
      identifier,
      edit: interaction.path(),
      forgot: interaction.path('forgot-password'),
      code: codeTarget(ways, identifier) !== undefined,
      ...(problem ? { problem } : {}),
    },
    status ?? (problem ? 400 : 200),
  );
}

type CodeTarget = { channel: Channel; connection: string; recipient: string };

/** Where a code for this identifier would be sent, if any connection sends codes there. */
function codeTarget(ways: Ways, typed: string): CodeTarget | undefined {
  const identifier = parseIdentifier(typed);
  if (identifier?.kind === 'email' && ways.email)
    return { channel: 'email', connection: ways.email.name, recipient: identifier.value };
  if (identifier?.kind === 'phone' && ways.sms)
    return { channel: 'sms', connection: ways.sms.name, recipient: identifier.value };
  return undefined;
}

async function startCode(interaction: Interaction, ways: Ways, identifier: string, again = false): Promise<void> {
  const target = codeTarget(ways, identifier);
  if (!target) return showIdentifier(interaction, ways, identifier, 'identifier_unusable');
  const { parts, uid, address: ip } = interaction;
  const sent = await parts.sendCode({ ...target, binding: uid, ip });
  if (sent === 'too_many') return interaction.show('too-many-attempts', { back: interaction.path() }, 429);
  return showCode(interaction, ways, target, { resent: again });
}

function showCode(
  interaction: Interaction,
  _ways: Ways,
  { channel, recipient }: CodeTarget,
  more: { problem?: ProblemName; resent?: boolean },
  status = more.problem ? 400 : 200,
): Promise<void> {
  return interaction.show(
    'code',
    {
      step: 'code',
      hidden: { identifier: recipient },
      channel,
      sentTo: recipient,
      edit: interaction.path(),
      resend: true,
      ...more,
    },
    status,
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
