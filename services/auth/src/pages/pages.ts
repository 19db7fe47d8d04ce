/**
 * What each hosted page needs, and what it sends back. The pages decide nothing: the caller says what is possible (an absent link or
 * switch is not shown) and what was wrong, and `renderPage` (render.ts) makes the response.
 *
 * Every form posts `hidden` back as given (it holds the interaction's CSRF token) and, with its first button, `action=default`. Further
 * buttons and fields are described with each page.
 */
import type { TemplateOrganization } from '../organizations/for-templates.ts';
import type { AccountPages } from './account.ts';
import type { CustomTexts } from './custom-texts.ts';
import type { ProblemName } from './strings/en.ts';

/** The setting of a page: the tenant, the application and the person. Everything is optional, so that an error page always renders. */
export type CommonContext = {
  /** `ui_locales` of the request; takes precedence over `acceptLanguage`. The first enabled one wins, else the first of those enabled. */
  uiLocales?: string | undefined;
  acceptLanguage?: string | undefined;
  /** BCP 47 tags; empty: all our languages. */
  enabledLocales?: string[] | undefined;
  tenant?: Tenant | undefined;
  /** The tenant's look. Its logo, favicon and font are all that our pages load from elsewhere. */
  branding?: Branding | undefined;
  application?: Application | undefined;
  /** The organization that the request names, `organization` in templates. */
  within?: TemplateOrganization | undefined;
  /** Set only after authentication: templates rely on that. */
  user?: User | undefined;
  /** The interaction's id, `state` in templates. */
  state?: string | undefined;
  /** `transaction.params` in templates: the request's `ext-*` parameters and other parts of it that a template may see. Untrusted. */
  params?: Record<string, string> | undefined;
  /** The application's address for the response: its origin (or custom scheme) must be in the page's `form-action`. */
  redirectUri?: string | undefined;
  /** The tenant's own words. */
  customTexts?: CustomTexts | undefined;
  /** The tenant's own template, if any (checked by `checkTemplate`). Ignored by pages that are no prompts. */
  template?: string | null | undefined;
  /** Told why the template could not be used, if so. */
  onTemplateProblem?: ((reason: string) => void) | undefined;
};

export type Tenant = { name?: string; friendly_name?: string; support_email?: string; support_url?: string };
/** Addresses are http or https, colours `#rrggbb` or `#rgb`. */
export type Branding = {
  logoUrl?: string | undefined;
  faviconUrl?: string | undefined;
  fontUrl?: string | undefined;
  primary?: string | undefined;
  pageBackground?: string | { type: 'linear-gradient'; start: string; end: string; angle_deg: number } | undefined;
};
export type Application = { id: string; name: string; logo_url?: string; metadata?: Record<string, unknown> };
/** Auth0's names; pages show `email`, else `phone_number`, else `name`. */
export type User = {
  user_id: string;
  email?: string;
  phone_number?: string;
  name?: string;
  nickname?: string;
  picture?: string;
  user_metadata?: Record<string, unknown>;
  app_metadata?: Record<string, unknown>;
};

/** A form: where it posts to, what it carries along, and all problems of the last attempt. */
export type Form = {
  action: string;
  hidden?: Record<string, string>;
  problems?: ProblemName[];
  /** An action’s own words, which replace the text of `signup_denied`. */
  said?: string;
  /** A challenge; the script of `identifier`, `password`, `login`, `signup` and `forgot-password` posts its solution under this name. */
  captcha?: string;
};

/** One API of a consent; OpenID Connect scopes form one without `identifier`. A scope without description shows ours, or its value. */
export type ConsentApi = {
  name?: string;
  identifier?: string;
  scopes: { value: string; description?: string | undefined }[];
};

/** The factors somebody may choose from, named like the paths of our pages. */
export type FactorChoice = 'otp' | 'email' | 'sms' | 'roaming' | 'platform' | 'recovery';

/** The ways to identify oneself. */
export type IdentifierKind = 'email' | 'phone' | 'username';

/** A provider for signing in: where its button leads, its name, and its logo: that of a strategy, or its own picture. */
export type ProviderButton = { href: string; label: string; mark: string; icon?: string };

export type Pages = AccountPages & {
  /**
   * Posts `identifier`; `action=signup` leads to the sign-up and keeps the typed value. With `passkey`, the options of a passkey request,
   * the script posts `credential` instead. Without `kinds` only the providers' buttons are shown.
   */
  identifier: Form & {
    identifier?: string;
    kinds: IdentifierKind[];
    signup?: boolean;
    passkey?: string;
    elsewhere?: ProviderButton[];
  };
  /** Posts `identifier`, `password`; `action=code` asks for a one-time code instead. `edit` leads back to the identifier. */
  password: Form & { identifier: string; edit: string; code?: boolean; forgot?: string };
  /** Classic login: posts `identifier`, `password`; `action=forgot` and `action=signup` lead on and keep the typed value. */
  login: Form & {
    identifier?: string;
    kinds: IdentifierKind[];
    forgot?: boolean;
    signup?: boolean;
    elsewhere?: ProviderButton[];
  };
  /** Posts `code`; `action=resend` asks for another. `sentTo` is what the user typed, never what we know. `resent`: a new code is on its way. */
  code: Form & {
    channel: 'email' | 'sms';
    sentTo: string;
    edit?: string;
    resend?: boolean;
    resent?: boolean;
    password?: string;
  };
  /** The page behind a link that logs in; posts nothing beside `hidden`. */
  'login-link': Form & { email: string };
  /**
   * A code as a second factor: posts `code`, and `remember=yes` if this browser should not be asked again; `action=resend` asks for another
   * code, `action=other` leads to the other ways. `sentTo` is masked unless it was typed here.
   */
  'factor-code': Form & {
    factor: 'otp' | 'email' | 'sms' | 'recovery-code';
    sentTo?: string;
    resend?: boolean;
    resent?: boolean;
    remember?: boolean;
    other?: boolean;
  };
  /** A security key as a second factor: the script posts `credential`, made from `options`. */
  'factor-key': Form & { options: string; remember?: boolean; other?: boolean };
  /** Posts `factor`: one that the person has, or may set up (`enrol`). */
  'factor-choice': Form & { factors: FactorChoice[]; enrol: boolean };
  /** Posts `code`. `picture` is a `data:` URL. */
  'enrol-otp': Form & { picture: string; key: string; other?: boolean };
  /** Posts `address`: where to send codes. */
  'enrol-address': Form & { channel: 'email' | 'sms'; address?: string; other?: boolean };
  /** The script posts `credential`, made from `options`; a passkey can be postponed (`action=skip`). */
  'enrol-key': Form & { kind: 'key' | 'passkey'; options: string; other?: boolean };
  /** Shown once. */
  'recovery-codes': Form & { codes: string[] };
  /** A login that was proven elsewhere: `action=default` accepts it, `action=other` leads to the login page. */
  'sign-in-as': Form & { identifier: string };
  /** Posts `email`, `password`; `action=login` leads to the login and keeps the typed value. */
  signup: Form & { email?: string; login?: boolean; passwordMinLength: number; elsewhere?: ProviderButton[] };
  /**
   * `action=default` allows, `action=deny` refuses, `action=other` lets somebody else log in. `redirectHost` is where the answer goes
   * (host and port, or a scheme). Shows the application’s logo, if it has one.
   */
  consent: Form & { apis: ConsentApi[]; redirectHost: string };
  /** Posts `organization`, a name; or `action=without`, where that is allowed. */
  organization: Form & { organization?: string; without: boolean };
  /** Posts `organization`, the id of one of these; or `action=without`, where that is allowed. */
  'organization-choice': Form & { without: boolean; organizations: { id: string; label: string }[] };
  /** Posts `user_code`. */
  'device-code': Form & { userCode?: string };
  /** Posts `confirm=yes`, or `abort=yes`; `user_code` goes into `hidden`. */
  'device-confirm': Form & { userCode: string };
  'device-done': { outcome: 'allowed' | 'denied' };
  /** Posts `logout=yes`, or nothing beside `hidden` to stay signed in. */
  logout: Form;
  'logged-out': { back?: string };
  /** `error` and `description` are the protocol's; `reference` is what support finds in the log. */
  error: { error: string; description?: string; reference?: string; back?: string };
  /** A page that outlived its interaction; `back` leads to the application. */
  stale: { back?: string };
  /** `reset` leads to a new password, if wrong ones were the cause. */
  'too-many-attempts': { back?: string; minutes?: number; reset?: string };
  /** Posts `email`; with `back`, `action=login` leads back and keeps the typed value. */
  'forgot-password': Form & { email?: string; back?: boolean };
  /**
   * Its form sends the mail again (`action=again`). Without `email` it goes to the same address as the last one. `signIn` leads to the
   * login, `back` to the application.
   */
  'password-mail-sent': Form & { email?: string; signIn?: string; back?: string; resent?: boolean };
  /** The same for a link that logs in. */
  'login-mail-sent': Form & { back?: string; resent?: boolean };
  /** The same for a link that confirms an address. */
  'verification-mail-sent': Form & { back?: string; resent?: boolean };
  /** Posts nothing beside `hidden`. */
  'verify-email': Form & { email: string };
  'email-verified': { back?: string };
  /**
   * A link from a mail that no longer works. Its form asks for another one: it posts `email` if `asks`, nothing beside `hidden` if the last
   * address is `known`; there is no form if neither is possible.
   */
  'dead-link': Form & { reason: DeadLinkReason; renewal: 'asks' | 'known' | 'none'; email?: string; back?: string };
  /** Posts `password`. */
  'new-password': Form & { email: string; passwordMinLength: number };
  'password-changed': { back?: string };
  /**
   * OAuth 2.0 Form Post Response Mode; also for a form of our own that submits itself (`redirectUri` then says where it may lead). Values
   * are sent unchanged.
   */
  'form-post': { action: string; fields: Record<string, string | number | boolean> };
  /** web_message: posted to exactly `origin`, the only one that may frame the page. */
  'web-message': { origin: string; response: Record<string, string | number> };
};

/** Why a link from a mail no longer works, as far as we know. */
export type DeadLinkReason = 'used' | 'expired' | 'unknown';

export type PageName = keyof Pages;
export type PageContext<Name extends PageName> = Pages[Name] & CommonContext;

/** The response: headers in lower case, content type included. The caller chooses the status. */
export type Page = { html: string; headers: Record<string, string> };
