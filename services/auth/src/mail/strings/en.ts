/**
 * The mails and text messages in English. `{name}` stands for a value: `application` and `email` as the reader knows them, `code`, `time`
 * (how long a link or code is valid), `inviter` and `organization` of an invitation, and for a change the `factor`, the time (`when`) and
 * the address (`ip`). Each language is a file like this one, listed in ../language.ts; the type ensures that it is complete.
 */
export const en = {
  verify_email: {
    subject: 'Confirm your email address',
    title: 'Confirm your email address',
    lead: '{email} was used to create an account for {application}. Confirm that this is your address.',
    action: 'Confirm address',
    expiry: 'The link works once, within {time}.',
    otherwise: 'If you did not create an account, ignore this message and do not open the link.',
  },
  reset_email: {
    subject: 'Change your {application} password',
    title: 'Choose a new password',
    lead: 'Somebody asked to change the password of your {application} account.',
    action: 'Choose a password',
    expiry: 'The link works once, within {time}.',
    otherwise: 'If that was not you, ignore this message: nothing has changed.',
  },
  welcome_email: {
    subject: 'Welcome to {application}',
    title: 'Welcome to {application}',
    lead: 'Your account for {email} is ready.',
    action: 'Open {application}',
    expiry: '',
    otherwise: '',
  },
  blocked_account: {
    subject: 'Too many failed sign-ins to {application}',
    title: 'Sign-ins to your account were paused',
    lead: 'Somebody tried many times to sign in to your {application} account, with wrong passwords or codes. We have paused these attempts for a while.',
    action: 'Choose a new password',
    expiry: 'The link works once, within {time}.',
    otherwise:
      'If that was you, wait a few minutes or choose a new password. If not, nobody has found out your password.',
  },
  stolen_credentials: {
    subject: 'Your {application} password is known to others',
    title: 'Choose a new password',
    lead: 'The password of your {application} account has appeared in a data breach elsewhere, so others may know it.',
    action: 'Choose a new password',
    expiry: 'The link works once, within {time}.',
    otherwise: 'Change it everywhere else you use it, too.',
  },
  email_changed: {
    subject: 'Your {application} email address was changed',
    title: 'Your email address was changed',
    lead: 'The email address of your {application} account is no longer {email}. It was changed on {when} by somebody who was signed in to the account, from the IP address {ip}.',
    action: '',
    expiry: '',
    otherwise:
      'If that was you, there is nothing to do. If not, somebody else has access to your account: contact {tenant} at once.',
  },
  password_changed: {
    subject: 'Your {application} password was changed',
    title: 'Your password was changed',
    lead: 'The password of your {application} account was changed on {when}, from the IP address {ip}. All other devices and applications were signed out.',
    action: 'View your account',
    expiry: '',
    otherwise:
      'If that was not you, somebody else can sign in. Choose a new password with “Forgot password?” on the sign-in page, and contact {tenant}.',
  },
  factor_added: {
    subject: 'A way to sign in was added to your {application} account',
    title: 'A way to sign in was added',
    lead: '{factor} was added to your {application} account on {when}, from the IP address {ip}.',
    action: 'View your account',
    expiry: '',
    otherwise: 'If that was not you, remove it from your account, change your password and sign out all other devices.',
  },
  factor_removed: {
    subject: 'A way to sign in was removed from your {application} account',
    title: 'A way to sign in was removed',
    lead: '{factor} was removed from your {application} account on {when}, from the IP address {ip}.',
    action: 'View your account',
    expiry: '',
    otherwise: 'If that was not you, change your password, sign out all other devices and add it again.',
  },
  recovery_codes_changed: {
    subject: 'New recovery codes for your {application} account',
    title: 'New recovery codes',
    lead: 'New recovery codes were generated for your {application} account on {when}, from the IP address {ip}. The old ones no longer work.',
    action: 'View your account',
    expiry: '',
    otherwise: 'If that was not you, generate new ones there, change your password and sign out all other devices.',
  },
  user_invitation: {
    subject: 'You are invited to {organization}',
    title: 'You are invited',
    lead: '{inviter} invites you to join {organization} on {application}.',
    action: 'Accept the invitation',
    expiry: 'The link works once, within {time}.',
    otherwise: 'If you were not expecting this invitation, ignore this message.',
  },
  login_link: {
    subject: 'Sign in to {application}',
    title: 'Sign in to {application}',
    lead: 'Open this link in the browser where you asked for it.',
    action: 'Sign in',
    expiry: 'The link works once, within {time}.',
    otherwise: 'If you did not ask for it, ignore this message.',
  },
  auth_email_by_code: {
    subject: 'Your {application} code',
    title: 'Your code',
    lead: 'Enter this code to continue to {application}.',
    action: '',
    expiry: 'It is valid for {time}.',
    otherwise: 'If you did not ask for it, ignore this message.',
  },
  /** The code as one sentence, for text messages and for mail without HTML. */
  codeSentence: 'Your {application} code is {code}. It is valid for {time}.',
  /** The values of `{factor}` in mails about an added or removed one. */
  factorNames: {
    totp: 'An authenticator app',
    phone: 'A phone number for codes',
    email: 'An email address for codes',
    'webauthn-roaming': 'A security key',
    'webauthn-platform': 'A device with a screen lock',
    passkey: 'A passkey',
  },
  copy: 'If the button does not work, copy this address into your browser:',
  support: 'Get help',
};

type Shape<T> = { [Key in keyof T]: T[Key] extends string ? string : Shape<T[Key]> };
/** The texts that each language must have. */
export type MailStrings = Shape<typeof en>;
