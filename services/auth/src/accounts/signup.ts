/** A new account in a database connection. */
import type { IncomingMessage } from 'node:http';
import type { PeopleActions } from '../actions/people.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import { networkOf } from '../http/network.ts';
import type { Languages } from '../mail/language.ts';
import { merge } from '../merge-metadata.ts';
import type { BreachedPasswords } from '../protection/breached/breached-passwords.ts';
import type { Report } from '../report.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isCommonPassword } from './common-password.ts';
import { isEmail, parseIdentifier } from './identifier.ts';
import { hashPassword, passwordMaxBytes, TooBusy } from './password.ts';
import type { AccountStore } from './store.ts';
import type { VerificationMails } from './verification-mail.ts';

export const passwordMinLength = 8;

export type Signup =
  | { kind: 'created'; account: AccountModel }
  /** All problems with the input, or else why the sign-up is impossible. Never empty. */
  | {
      kind: 'refused';
      problems: SignupProblem[];
      /** What an action says to the person. */
      said?: string;
    };

export type SignupProblem =
  | 'email_invalid'
  | 'password_too_short'
  | 'password_too_common'
  | 'password_leaked'
  | 'signup_refused'
  /** Only if the tenant wants this revealed. */
  | 'user_exists'
  | 'signup_denied'
  | 'busy';

export type SignUp = (given: {
  connection: string;
  email: unknown;
  password: unknown;
  request: IncomingMessage;
  /** The network address of the person signing up. */
  ip: string;
  /** The application in which they sign up. */
  clientId: string;
  languages: Languages;
  profile?: {
    username?: string;
    name?: string;
    givenName?: string;
    familyName?: string;
    nickname?: string;
    picture?: string;
    userMetadata?: object;
  };
}) => Promise<Signup>;

/** A new account with an unconfirmed address is asked by mail to confirm it. */
export function makeSignUp(parts: {
  accounts: AccountStore;
  settings: SettingsStore;
  verificationMails: Pick<VerificationMails, 'signedUp'>;
  report: Pick<Report, 'signedUp' | 'signUpRefused'>;
  breached: Pick<BreachedPasswords, 'refusesSignup'>;
  people: PeopleActions;
}): SignUp {
  const { accounts, settings, verificationMails, report, breached, people: actions } = parts;
  return async ({ connection, email, password, request, ip, clientId, languages, profile }) => {
    const address = typeof email === 'string' && isEmail(email.trim()) && parseIdentifier(email) ? email : undefined;
    const problem = passwordProblem(password, address ?? '');
    if (address === undefined || problem)
      return refused(...(address === undefined ? (['email_invalid'] as const) : []), ...(problem ? [problem] : []));
    const tenant = await settings.load();
    if (!tenant.allowSignup) return refused('signup_refused');
    const network = networkOf(ip);
    if (await breached.refusesSignup(password as string, { ip, network, clientId })) return refused('password_leaked');
    try {
      // Hashed before the account is looked up, so that a taken address is not answered faster.
      const passwordHash = await hashPassword(password as string, { network, account: address });
      const owned = address.trim().toLowerCase();
      // Runs whether or not the address is taken.
      const asked = { request, ip, clientId };
      const admitted = await actions.beforeSignUp({ ...asked, connection, user: userOf(owned, profile) });
      if (admitted.kind === 'denied') return { ...refused('signup_denied'), said: admitted.message };
      const account = await accounts.create({
        connection,
        email: owned,
        passwordHash,
        ...profile,
        ...withMetadata(profile?.userMetadata, admitted),
      });
      if (account === 'no_connection') return refused('signup_refused');
      if (!account) {
        report.signUpRefused(clientId, ip);
        return refused(revealsTakenAddress(tenant) ? 'user_exists' : 'signup_refused');
      }
      report.signedUp(account, clientId, ip);
      await actions.afterSignUp(account, asked);
      await verificationMails.signedUp({ account, clientId, languages, ip });
      return { kind: 'created', account };
    } catch (error) {
      if (error instanceof TooBusy) return refused('busy');
      throw error;
    }
  };
}

/** `flags` of `tenants/settings`, in Auth0's words: whether strangers may learn that an address is taken. */
function revealsTakenAddress({ inert }: Pick<SettingsModel, 'inert'>): boolean {
  const { flags } = inert as { flags?: { enable_public_signup_user_exists_error?: boolean } };
  return flags?.enable_public_signup_user_exists_error === true;
}

/** The person about to sign up, as actions see them. */
function userOf(email: string, profile: Parameters<SignUp>[0]['profile'] = {}): Record<string, unknown> {
  const { givenName, familyName, userMetadata = {}, ...rest } = profile;
  return {
    email,
    ...rest,
    given_name: givenName,
    family_name: familyName,
    user_metadata: userMetadata,
    app_metadata: {},
  };
}

function withMetadata(
  given: object | undefined,
  { userMetadata, appMetadata }: { userMetadata: object; appMetadata: object },
) {
  return {
    ...(Object.keys(userMetadata).length > 0 && { userMetadata: merge(given ?? {}, { ...userMetadata }) as object }),
    ...(Object.keys(appMetadata).length > 0 && { appMetadata: merge({}, { ...appMetadata }) as object }),
  };
}

/** Why this password is not allowed. */
export function passwordProblem(
  password: unknown,
  email: string,
): 'password_too_short' | 'password_too_common' | undefined {
  if (typeof password !== 'string' || [...password].length < passwordMinLength) return 'password_too_short';
  if (Buffer.byteLength(password) > passwordMaxBytes || password.trim().length < passwordMinLength)
    return 'password_too_short';
  if (isCommonPassword(password) || password.toLowerCase() === email.trim().toLowerCase()) return 'password_too_common';
  return undefined;
}

function refused(...problems: SignupProblem[]): Signup {
  return { kind: 'refused', problems };
}
