/**
 * Logging in on the hosted pages. Known and unknown people see the same pages in the same time. Every `check…` answers a POST with a
 * redirect to the next page or, with the problems found, back to its own; every `show…` answers a GET and may be repeated.
 */
import type { Request } from 'express';
import { parseIdentifier } from '../accounts/identifier.ts';
import { passwordMinLength } from '../accounts/signup.ts';
import type { Subject } from '../accounts/subject.ts';
import { logInByPasskey, passkeyOptions } from '../factors/passkey.ts';
import { finishLogin } from '../factors/second-factor.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { IdentifierKind } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { SignUpDenied } from '../passwordless/account.ts';
import type { Closed } from '../protection/attempt-limits.ts';
import { busySeconds } from '../stores-away.ts';
import { buttonsOf, hasHomeRealms, homeRealmOf } from '../upstream/offered.ts';
import { redirectToProvider } from '../upstream/sign-in.ts';
import type { Interaction, Recalled } from './interaction.ts';
import { challengeFor, isPerson } from './person-check.ts';
import { codeTarget, type Ways, waysOf } from './ways.ts';

export async function showFirstPage(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  const only = onlyProviderOf(ways);
  if (only) return redirectToProvider(interaction, only);
  return interaction.params.screen_hint === 'signup' && ways.signup
    ? showSignup(interaction)
    : showIdentifier(interaction);
}

/** Asks who the person is. Classic login asks for the password on the same page. */
export async function showIdentifier(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  if (isClassic(ways)) return showClassic(interaction, ways, await interaction.recall('password'));
  const [{ typed, outcome }, passkey, captcha] = await Promise.all([
    interaction.recall('identifier'),
    passkeyOptions(interaction),
    ways.email || ways.sms ? challengeFor(interaction, ['passwordless']) : {},
  ]);
  const fields = identifierField(interaction, ways, typed);
  const page = { step: 'identifier', ...fields, ...(passkey && { passkey }), ...captcha };
  return interaction.show('identifier', page, outcome);
}

async function checkPasskeyLogin(interaction: Interaction, typed: string, credential: string): Promise<void> {
  const login = await logInByPasskey(interaction, credential);
  switch (login.kind) {
    case 'right':
      return finishLogin(interaction, login.account, { amr: login.amr, connection: login.account.connection });
    case 'failed':
      return redisplay(interaction, 'identifier', typed, ['key_failed']);
    case 'unknown':
      return redisplay(interaction, 'identifier', typed, ['passkey_unknown']);
    case 'busy':
      return redisplay(interaction, 'identifier', typed, ['busy'], { status: 429 });
  }
}

/** Identifier-first: leads to the password, or straight to a code. */
export async function checkIdentifier(interaction: Interaction, request: Request): Promise<void> {
  const { identifier: typed = '', credential = '' } = fieldsOf(request);
  const ways = await waysOf(interaction);
  if (credential !== '') return checkPasskeyLogin(interaction, typed, credential);
  if (!typed.trim()) return redisplay(interaction, 'identifier', typed, ['identifier_missing']);
  const home = homeRealmOf(ways.upstream, typed);
  if (home) return goToHomeRealm(interaction, home, typed);
  const identifier = parseIdentifier(typed);
  if (!identifier || !kindsOf(ways).includes(identifier.kind))
    return redisplay(interaction, 'identifier', typed, ['identifier_unusable']);
  if (ways.database && (identifier.kind !== 'phone' || !ways.sms))
    return interaction.turnTo('password', { identifier: identifier.value });
  return startCode(interaction, ways, { identifier: identifier.value, request });
}

export async function showPassword(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  const recalled = await interaction.recall('password');
  if (isClassic(ways)) return showClassic(interaction, ways, recalled);
  const { identifier, outcome } = recalled;
  if (!identifier) return interaction.turnTo('identifier');
  const page = {
    step: 'password',
    identifier,
    edit: interaction.path('identifier'),
    forgot: interaction.path('forgot-password'),
    code: codeTarget(ways, identifier) !== undefined,
    ...(await challengeFor(interaction, ['login', ...offered(ways, identifier)], identifier)),
  };
  return interaction.show('password', page, outcome);
}

/** The password, after the identifier or together with it (classic login). */
export async function checkPassword(interaction: Interaction, request: Request): Promise<void> {
  const { identifier = '', password = '', action } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  if (action === 'code') return startCode(interaction, ways, { identifier, request, page: 'password' });
  // Somebody with a company's address signs in there, whatever else they typed.
  const home = isClassic(ways) ? homeRealmOf(ways.upstream, identifier) : undefined;
  if (home) return goToHomeRealm(interaction, home, identifier);
  const missing: ProblemName[] = [
    ...(identifier.trim() ? [] : (['identifier_missing'] as const)),
    ...(password ? [] : (['password_missing'] as const)),
  ];
  if (!identifier.trim() && !isClassic(ways))
    return redisplay(interaction, 'identifier', identifier, missing.slice(0, 1));
  if (missing.length > 0) return redisplay(interaction, 'password', identifier, missing);
  if (!ways.database) return redisplay(interaction, 'identifier', identifier, ['wrong_credentials']);
  if (!(await isPerson(interaction, request, { stage: 'login', login: identifier })))
    return redisplay(interaction, 'password', identifier, ['captcha_failed']);
  const connection = ways.database.name;
  const result = await parts.authenticate({
    connection,
    login: identifier,
    password,
    address: interaction.address,
    clientId: interaction.client.clientId,
  });
  switch (result.kind) {
    case 'right':
      return finishLogin(interaction, result.account, { amr: ['pwd'], connection });
    case 'wrong':
      parts.report.loginFailed(interaction, 'wrong_password', result.subject);
      return redisplay(interaction, 'password', identifier, ['wrong_credentials']);
    case 'leaked':
      parts.report.loginFailed(interaction, 'password_leaked', result.subject);
      return redisplay(interaction, 'password', identifier, ['login_password_leaked']);
    case 'locked':
      return pause(interaction, result, { identifier, reset: result.reason === 'too_many_attempts' });
    case 'busy':
      return redisplay(interaction, 'password', identifier, ['busy'], { status: result.excess ? 429 : 503 });
  }
}

/** The same page again, with the typed values and the problems found. */
function redisplay(
  interaction: Interaction,
  step: string,
  identifier: string,
  problems: ProblemName[],
  { status, said }: { status?: number; said?: string | undefined } = {},
): Promise<void> {
  const retryAfterSeconds = problems.includes('busy') ? busySeconds : undefined;
  const rest = {
    ...(status && { status }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
    ...(said !== undefined && { said }),
  };
  return interaction.turnTo(step, { identifier: identifier.slice(0, typedMax) }, { problems, ...rest });
}

const typedMax = 320;

/** Too many attempts. Offers a new password where wrong ones are the cause. */
function pause(
  interaction: Interaction,
  { seconds, subject, reason }: { seconds: number; subject: Subject; reason: Closed['reason'] },
  { identifier, reset }: { identifier: string; reset: boolean },
): Promise<void> {
  interaction.parts.report.loginFailed(interaction, reason, subject);
  const until = Date.now() + seconds * 1000;
  return interaction.turnTo('too-many-attempts', {
    identifier: identifier.slice(0, typedMax),
    pause: { until, reset },
  });
}

/** Shown while the pause lasts. */
export async function showPause(interaction: Interaction): Promise<void> {
  const { pause: paused } = await interaction.recall('too-many-attempts');
  const seconds = paused?.until === undefined ? undefined : Math.ceil((paused.until - Date.now()) / 1000);
  if (!paused || (seconds !== undefined && seconds <= 0)) return interaction.turnTo('identifier');
  const page = {
    back: interaction.path('identifier'),
    ...(seconds && { minutes: Math.ceil(seconds / 60) }),
    ...(paused.reset && { reset: interaction.path('forgot-password') }),
  };
  return interaction.show('too-many-attempts', page, {
    status: 429,
    ...(seconds && { retryAfterSeconds: seconds }),
  });
}

export async function showCode(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  const { codeTo = '', outcome } = await interaction.recall('code');
  const target = codeTarget(ways, codeTo);
  if (!target) return interaction.turnTo('identifier');
  const { channel, recipient } = target;
  const page = {
    step: 'code',
    hidden: { identifier: recipient },
    channel,
    sentTo: recipient,
    edit: interaction.path('identifier'),
    resend: true,
    resent: outcome.resent ?? false,
  };
  return interaction.show('code', page, outcome);
}

/** Checks a one-time code, or sends another one. */
export async function checkCode(interaction: Interaction, request: Request): Promise<void> {
  const { code = '', identifier = '', action } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  const target = codeTarget(ways, identifier);
  if (!target) return redisplay(interaction, 'identifier', identifier, ['identifier_unusable']);
  if (action === 'resend') {
    const { codeTo } = await interaction.recall('code');
    // If a code was already sent from here, the challenge has been solved.
    return startCode(interaction, ways, { identifier, ...(codeTo !== target.recipient && { request }), resent: true });
  }
  const { channel, connection, recipient } = target;
  const failed = (problem: ProblemName, more = {}) => interaction.turnTo('code', {}, { problems: [problem], ...more });
  if (!code.trim()) return failed('code_missing');
  const asked = { connection, recipient, binding: interaction.uid };
  const answer = await parts.checkCode({ channel, asked, code, ip: interaction.address });
  switch (answer.kind) {
    case 'busy':
      return failed('busy', { status: 503, retryAfterSeconds: busySeconds });
    case 'locked':
      return pause(interaction, answer, { identifier: recipient, reset: false });
    case 'wrong':
      parts.report.loginFailed(interaction, 'wrong_code', answer.subject);
      return failed('code_wrong');
    case 'expired':
      parts.report.loginFailed(interaction, 'code_expired', answer.subject);
      return failed('code_expired');
    case 'right':
  }
  const { clientId } = interaction.client;
  const opening = { clientId, request, ip: interaction.address };
  const account = await parts.openAccount(channel, connection, recipient, opening);
  if (account instanceof SignUpDenied) return failed('signup_denied', { said: account.said });
  if (!account) return failed('code_wrong');
  return finishLogin(interaction, account, { amr: ['otp'], connection });
}

export async function showSignup(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  if (!ways.signup) return showIdentifier(interaction);
  const { typed, outcome } = await interaction.recall('signup');
  // A login typed on another page may be a number or a username.
  const email = typed.includes('@') || outcome.problems ? typed : undefined;
  const page = {
    step: 'signup',
    passwordMinLength,
    login: true,
    ...(email && { email }),
    ...(await challengeFor(interaction, ['signup'])),
    elsewhere: buttonsOf(ways.upstream, interaction.path),
  };
  return interaction.show('signup', page, outcome);
}

export async function checkSignup(interaction: Interaction, request: Request): Promise<void> {
  const { email = '', password } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  if (!ways.signup || !ways.database) return interaction.turnTo('identifier');
  const home = homeRealmOf(ways.upstream, email);
  if (home) return goToHomeRealm(interaction, home, email);
  if (!(await isPerson(interaction, request, { stage: 'signup' })))
    return redisplay(interaction, 'signup', email, ['captcha_failed']);
  const { address: ip, languages } = interaction;
  const { clientId } = interaction.client;
  if (!(await parts.takeSignup({ ip, clientId })))
    return redisplay(interaction, 'signup', email, ['busy'], { status: 429 });
  const { name: connection } = ways.database;
  const result = await parts.signUp({ connection, email, password, request, ip, clientId, languages });
  if (result.kind === 'refused') return redisplay(interaction, 'signup', email, result.problems, { said: result.said });
  return finishLogin(interaction, result.account, { amr: ['pwd'], connection });
}

/** The provider to go to directly, because it was requested or is the only way. */
function onlyProviderOf({ database, email, sms, upstream }: Ways): ConnectionModel | undefined {
  return !database && !email && !sms && upstream.length === 1 ? upstream[0] : undefined;
}

/** Goes to the provider of an address, and passes the address on. */
function goToHomeRealm(interaction: Interaction, { name }: ConnectionModel, typed: string): Promise<void> {
  const identifier = typed.trim().slice(0, typedMax);
  return interaction.turnTo(`connection/${encodeURIComponent(name)}`, { identifier });
}

function isClassic(ways: Ways): boolean {
  return !ways.identifierFirst && ways.database !== undefined;
}

function kindsOf(ways: Ways): IdentifierKind[] {
  return [
    ...(ways.database || ways.email || hasHomeRealms(ways.upstream) ? (['email'] as const) : []),
    ...(ways.sms || ways.database ? (['phone'] as const) : []),
    ...(ways.database ? (['username'] as const) : []),
  ];
}

function identifierField({ path }: Interaction, ways: Ways, identifier: string) {
  return {
    // A phone number finds an account too, but is not asked for if no text message can be sent.
    kinds: kindsOf(ways).filter((kind) => kind !== 'phone' || ways.sms !== undefined),
    ...(identifier ? { identifier } : {}),
    signup: ways.signup,
    elsewhere: buttonsOf(ways.upstream, path),
  };
}

async function showClassic(interaction: Interaction, ways: Ways, { typed, outcome }: Recalled): Promise<void> {
  const captcha = await challengeFor(interaction, ['login'], typed);
  const fields = { ...identifierField(interaction, ways, typed), ...captcha };
  return interaction.show('login', { step: 'password', forgot: true, ...fields }, outcome);
}

/** The stage of the challenge for a code offered beside the password. */
const offered = (ways: Ways, identifier: string) => (codeTarget(ways, identifier) ? (['passwordless'] as const) : []);

/** @param asked `request`: its challenge must be solved first; `page`: the page that showed it */
async function startCode(
  interaction: Interaction,
  ways: Ways,
  asked: { identifier: string; request?: Request; page?: 'identifier' | 'password'; resent?: boolean },
): Promise<void> {
  const { identifier, request, page = 'identifier', resent = false } = asked;
  const target = codeTarget(ways, identifier);
  if (!target) return redisplay(interaction, 'identifier', identifier, ['identifier_unusable']);
  const check = {
    stage: 'passwordless',
    login: identifier,
    also: page === 'password' ? (['login'] as const) : [],
  } as const;
  if (request && !(await isPerson(interaction, request, check)))
    return redisplay(interaction, page, identifier, ['captcha_failed']);
  const { parts, uid, languages, address: ip } = interaction;
  const { clientId } = interaction.client;
  const sent = await parts.sendCode({ ...target, binding: uid, ip, clientId, languages });
  const facts = { identifier, codeTo: target.recipient };
  if (sent === 'too_many') return interaction.turnTo('too-many-attempts', { ...facts, pause: {} });
  return interaction.turnTo('code', facts, { resent });
}
