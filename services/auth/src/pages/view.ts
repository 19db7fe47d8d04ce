/**
 * What a template sees of a page. The names that Auth0 documents for page templates (`application`, `branding`, `organization`, `tenant`,
 * `user`, `locale`, `dir`, `prompt`, `state`, `transaction`) are also for tenants' templates, see `templateContext`; the others are
 * private to this file and our own widgets.
 */
import { isLoopback } from '../http/loopback.ts';
import { defaultPageBackground, defaultPrimary } from './brand-style.ts';
import { customize } from './custom-texts.ts';
import { fill, inertJson, type Values } from './fill.ts';
import { chooseLanguage, locales } from './language.ts';
import type { Branding, CommonContext, ConsentApi, IdentifierKind, PageName, Pages, ProviderButton } from './pages.ts';
import { screens } from './screens.ts';
import type { ProblemName, Strings } from './strings/en.ts';

/** Everything that any page may hold, readable without knowing which page it is. */
type AnyPage = CommonContext &
  Partial<Pick<Pages['web-message'], 'origin' | 'response'>> & {
    problems?: ProblemName[];
    said?: string;
    kinds?: IdentifierKind[];
    elsewhere?: ProviderButton[];
    identifier?: string;
    apis?: ConsentApi[];
    back?: string | undefined;
  };

/** A page with everything about it that is looked up rather than given. */
export type View = Record<string, unknown> & { locale: string; themed: boolean };

/** The field that a problem concerns; one without a field concerns the whole form. */
const problemFields: Partial<Record<ProblemName, string>> = {
  identifier_missing: 'identifier',
  identifier_unusable: 'identifier',
  password_missing: 'password',
  wrong_credentials: 'password',
  code_missing: 'code',
  code_wrong: 'code',
  code_expired: 'code',
  email_invalid: 'email',
  password_too_short: 'password',
  password_too_common: 'password',
  password_leaked: 'password',
  login_password_leaked: 'password',
  code_used: 'code',
  recovery_code_wrong: 'code',
  phone_invalid: 'address',
  user_code_missing: 'user_code',
  user_code_wrong: 'user_code',
  user_code_used: 'user_code',
  old_password_wrong: 'old_password',
  email_taken: 'email',
  picture_invalid: 'picture',
  confirm_missing: 'confirm',
  organization_unknown: 'organization',
};

export function makeView<Name extends PageName>(name: Name, page: Pages[Name] & CommonContext): View {
  const screen = screens[name];
  const any = page as AnyPage;
  const language = chooseLanguage(any.uiLocales, any.acceptLanguage, any.enabledLocales);
  const tenant = tenantWithDefaults(any);
  const account = any.user?.email ?? any.user?.phone_number ?? any.user?.name;
  const values: Values = {
    application: any.application?.name || undefined,
    tenant: tenant.friendly_name,
    organization: any.within?.display_name,
    // Auth0: "Auth0 Tenant name, or Organization name if the user is authenticating in the context of an Organization".
    company: any.within?.display_name ?? tenant.friendly_name,
    account,
    ...screen.values?.(page, language.tag),
  };
  const promptName = typeof screen.prompt === 'string' ? screen.prompt : screen.prompt(page);
  const screenName = typeof screen.screen === 'string' ? screen.screen : screen.screen(page);
  const { strings, pageTitle } = customize(language.strings, {
    texts: any.customTexts,
    tag: language.tag,
    screen: `${promptName}/${screenName}`,
    values,
  });
  const identifier = identifierField(any.kinds, strings);
  const problems = problemsOf(any, strings, { ...values, label: identifier.identifierLabel });
  const own: Record<string, string> = strings[screen.texts];
  const texts = Object.fromEntries(Object.entries(own).map(([key, text]) => [key, fill(text, values)]));
  const title = texts[screen.title?.(page) ?? 'title'] ?? '';
  const lead = own[screen.lead?.(page, values) ?? 'lead'] ?? '';
  return {
    ...page,
    themed: screen.themed,
    wide: screen.wide === true,
    locale: language.tag,
    dir: language.dir,
    common: strings.common,
    texts: name === 'consent' ? { ...texts, caution: own.caution, redirect: own.redirect } : texts,
    values,
    title,
    pageTitle,
    lead: fill(lead, values) === '' ? '' : lead,
    tenant,
    account,
    branding: brandingOf(any.branding),
    prompt: { name: promptName, screen: { name: screenName, texts } },
    transaction: { params: any.params ?? {}, locale: language.tag },
    problems,
    // By field, for the field that shows it.
    invalid: Object.fromEntries(problems.flatMap(({ field }) => (field ? [[field, true]] : []))),
    focus: problems[0]?.field ?? firstField(name, any.identifier),
    support: any.tenant?.support_url || (any.tenant?.support_email && `mailto:${any.tenant.support_email}`),
    backLabel: values.application === undefined ? strings.common.back : fill(strings.common.backTo, values),
    open: any.back === undefined,
    ...identifier,
    ...(any.elsewhere && {
      elsewhere: any.elsewhere.map((each) => ({
        ...each,
        text: fill(strings.common.continueWith, { ...values, connection: each.label }),
      })),
    }),
    ...(any.apis && {
      apis: describeScopes(any.apis, strings),
      initial: initialOf(any.application?.name),
      applicationLogo: applicationLogo(any),
    }),
    ...(any.origin !== undefined && { message: inertJson({ origin: any.origin, response: any.response }) }),
  };
}

/** The problems in words, each with its field. */
function problemsOf({ problems = [], said }: AnyPage, strings: Strings, values: Values) {
  return problems.map((problem) => ({
    text: problem === 'signup_denied' && said ? said : fill(strings.problems[problem], values),
    field: problemFields[problem],
  }));
}

function tenantWithDefaults({ tenant, enabledLocales }: AnyPage) {
  return {
    ...tenant,
    friendly_name: tenant?.friendly_name || 'Gatepost',
    enabled_locales: enabledLocales?.length ? enabledLocales : locales,
  };
}

/** The part of a view that a tenant's template may read, by Auth0's names. `user` is present only after authentication. */
export function templateContext(view: View): object {
  const { application, branding, dir, locale, prompt, state, tenant, transaction, user, within } = view;
  return {
    application,
    branding,
    dir,
    locale,
    prompt,
    state,
    tenant,
    transaction,
    ...(within !== undefined && { organization: within }),
    ...(user !== undefined && { user }),
  };
}

/** By Auth0's names. */
function brandingOf({ logoUrl = '', faviconUrl = '', fontUrl, primary, pageBackground }: Branding = {}) {
  return {
    logo_url: logoUrl,
    favicon_url: faviconUrl,
    colors: { primary: primary ?? defaultPrimary, page_background: pageBackground ?? defaultPageBackground },
    ...(fontUrl !== undefined && { font: { url: fontUrl } }),
  };
}

type IdentifierField = { identifierLabel: string; identifierType?: string; identifierMode?: string };

function identifierField(kinds: IdentifierKind[] = [], { common }: Strings): IdentifierField {
  const [email, phone, username] = [kinds.includes('email'), kinds.includes('phone'), kinds.includes('username')];
  const only = kinds.length === 1;
  if (only && phone) return { identifierLabel: common.phone, identifierType: 'tel', identifierMode: 'tel' };
  if (only && username) return { identifierLabel: common.username };
  // If a phone number or username is possible too, `type=email` would refuse it; a mail keyboard can type all three.
  if (email && phone && username) return { identifierLabel: common.anyIdentifier, identifierMode: 'email' };
  if (email && phone) return { identifierLabel: common.emailOrPhone, identifierMode: 'email' };
  if (email && username) return { identifierLabel: common.emailOrUsername, identifierMode: 'email' };
  return email
    ? { identifierLabel: common.email, identifierType: 'email', identifierMode: 'email' }
    : { identifierLabel: common.anyIdentifier };
}

/** The field that has the focus when a page opens: the first one still to be filled. */
function firstField(name: PageName, identifier: string | undefined): string | undefined {
  switch (name) {
    case 'identifier':
      return 'identifier';
    case 'login':
      return identifier ? 'password' : 'identifier';
    case 'password':
    case 'new-password':
      return 'password';
    case 'code':
    case 'factor-code':
    case 'enrol-otp':
      return 'code';
    case 'enrol-address':
      return 'address';
    case 'signup':
    case 'forgot-password':
    case 'dead-link':
      return 'email';
    case 'organization':
      return 'organization';
    case 'device-code':
      return 'user_code';
    default:
      return undefined;
  }
}

/** The logo of the application that asks for consent: only by https, or from the developer’s own machine. */
export function applicationLogo({ application }: CommonContext): string | undefined {
  const url = URL.parse(application?.logo_url ?? '');
  return url && (url.protocol === 'https:' || isLoopback(url)) ? url.href : undefined;
}

function describeScopes(apis: ConsentApi[], { scopes }: Strings): ConsentApi[] {
  const known = new Map(Object.entries(scopes));
  return apis
    .filter((api) => api.scopes.length > 0)
    .map((api) => ({
      ...api,
      scopes: api.scopes.map((scope) => ({
        ...scope,
        description: scope.description || (api.identifier === undefined ? known.get(scope.value) : undefined),
      })),
    }));
}

function initialOf(name = ''): string {
  const [first = '·'] = new Intl.Segmenter().segment(name.trim())[Symbol.iterator]().next().value?.segment ?? '·';
  return first.toLocaleUpperCase();
}
