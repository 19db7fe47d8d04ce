/** A plausible mail of each kind, for checking a template before people get it. */
import { passwordTtlSeconds } from '../accounts/password-mail.ts';
import { verificationTtlSeconds } from '../accounts/verification-mail.ts';
import { invitationTtlSeconds } from '../organizations/invitations.ts';
import type { Letter, LetterName } from './letters.ts';
import { en } from './strings/en.ts';

const notLetters = ['factorNames', 'codeSentence', 'copy', 'support'];
/** Mails that exist only in our own words. */
const ownLetters = [
  'login_link',
  'email_changed',
  'password_changed',
  'factor_added',
  'factor_removed',
  'recovery_codes_changed',
];
/** Mails that can have a template, by Auth0's names. */
const sent: readonly string[] = Object.keys(en).filter((name) => ![...notLetters, ...ownLetters].includes(name));

export const isSent = (name: string): name is LetterName => sent.includes(name);

/** How long links are valid by default; those to a new password are not listed. */
const linkTtlSeconds: Partial<Record<LetterName, number>> = {
  verify_email: verificationTtlSeconds,
  user_invitation: invitationTtlSeconds,
};

/** Belongs to nobody: the address is reserved for examples, and the link leads nowhere. */
export function sampleLetter(
  name: LetterName,
  { issuer, clientId, uiLocales }: { issuer: string; clientId: string | undefined; uiLocales: string | undefined },
): Letter {
  const email = 'jane@example.com';
  const isCode = en[name].action === '';
  return {
    name,
    email,
    account: {
      ...nothingKnown,
      userId: 'auth0|5f7c8ec7c33c6c004bbafe82',
      email,
      emailVerified: name !== 'verify_email',
      name: 'Jane Example',
      givenName: 'Jane',
      familyName: 'Example',
      nickname: 'jane',
    },
    connection: 'Username-Password-Authentication',
    clientId,
    languages: { uiLocales },
    ...(isCode ? { code: '314159' } : { url: `${issuer}?ticket=sample` }),
    ttlSeconds: isCode ? 180 : (linkTtlSeconds[name] ?? passwordTtlSeconds),
    ...(name === 'user_invitation' && {
      invitation: {
        organization: {
          id: 'org_5f7c8ec7c33c6c00',
          name: 'orchard',
          display_name: 'Orchard Inc',
          metadata: {},
          branding: {},
        },
        inviter: 'Ada Administrator',
      },
    }),
  };
}

const nothingKnown = {
  username: null,
  phoneNumber: null,
  phoneVerified: false,
  picture: null,
  updatedAt: new Date(0),
  userMetadata: {},
  appMetadata: {},
};
