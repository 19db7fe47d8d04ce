/**
 * Logging in on the hosted pages. Known and unknown people see the same pages in the same time. Every `check…` answers a POST with a
 * redirect to the next page or, with the problems found, back to its own; every `show…` answers a GET and may be repeated.
 */
import type { Request } from 'express';
import { parseIdentifier } from '../accounts/identifier.ts';
import { passwordMinLength } from '../accounts/signup.ts';
import { logInByPasskey, passkeyOptions } from '../factors/passkey.ts';
import { finishLogin } from '../factors/second-factor.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { IdentifierKind } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { buttonsOf, hasHomeRealms, homeRealmOf } from '../upstream/offered.ts';
import { redirectToProvider } from '../upstream/sign-in.ts';
import { startCode } from './code.ts';
import type { Interaction, Recalled } from './interaction.ts';
import { challengeFor, isPerson } from './person-check.ts';
import { pause, redisplay, typedMax } from './redisplay.ts';
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
