/**
 * Writes the mails that people get, in their language: as HTML and as text, with the name and logo of the application that they use. They
 * contain nothing chosen by a stranger except the address itself: a stranger can sign up with anybody’s address and any name, or register an
 * application, whose mails have the tenant’s name and logo until an administrator vouches for it.
 */
import type { Log } from '@gatepost/runtime/log';
import { accountClaims } from '../accounts/store.ts';
import type { ClientStore, RegisteredClient } from '../clients/store.ts';
import type { MethodType } from '../factors/types.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import type { TemplateOrganization } from '../organizations/for-templates.ts';
import { defaultPrimary } from '../pages/brand-style.ts';
import { textOn } from '../pages/contrast.ts';
import { renderTenantBody } from '../pages/custom-template.ts';
import { renderOwn } from '../pages/engine.ts';
import { fill } from '../pages/fill.ts';
import { brandingOf } from '../settings/branding.ts';
import type { EmailTemplateStore } from '../settings/email-templates.ts';
import type { SettingsStore } from '../settings/store.ts';
import { chooseMailLanguage, type Languages, type MailLanguage, spellMoment, spellTime } from './language.ts';
import type { Mail } from './post-box.ts';
import type { MailStrings } from './strings/en.ts';
import { renderLine, renderResultUrl, renderSender, type TemplateFields } from './tenant-letter.ts';

/** Auth0’s names for the mails that we send, and ours for mails without an Auth0 template (sample-letter.ts). */
export type LetterName = Exclude<keyof MailStrings, 'factorNames' | 'codeSentence' | 'copy' | 'support'>;

/** The parts of an account that a mail may mention. */
export type LetterAccount = Parameters<typeof accountClaims>[0] & Pick<AccountModel, 'userMetadata' | 'appMetadata'>;

export type Letter = {
  name: LetterName;
  /** The recipient. */
  email: string;
  /** The account it is about; undefined if nobody has that address yet. */
  account: LetterAccount | undefined;
  connection: string;
  /** The application that it is about. */
  clientId: string | undefined;
  languages: Languages;
  /** Where its button leads. */
  url?: string;
  code?: string;
  /** The organization and the inviter, in an administrator's words. */
  invitation?: { organization: TemplateOrganization; inviter: string };
  /** A change of the account: when, from where, and which factor. */
  change?: { at: Date; ip: string; factor?: MethodType; provider?: string };
  /** How long the link or the code is valid. */
  ttlSeconds?: number;
};

/** The link settings of the tenant’s template. */
export type LinkRules = {
  /** False: this mail is not sent. */
  isSent: boolean;
  ttlSeconds: number | undefined;
  /** Where a used link leads; otherwise a page of ours confirms it. */
  resultUrl: string | undefined;
  /** Whether `resultUrl` is told the address. */
  includeEmail: boolean;
};

export type Letters = {
  write(letter: Letter): Promise<Omit<Mail, 'to'>>;
  /** Renders an unsaved template. `problems`: the names of the parts that failed, which are shown in our own words. */
  preview(
    letter: Letter,
    template: TemplateFields,
  ): Promise<{ mail: Omit<Mail, 'to'>; problems: Record<string, string> }>;
  linkRules(name: LetterName, clientId: string | undefined): Promise<LinkRules>;
  /** A code as a text message. */
  writeText(
    message: Pick<Letter, 'account' | 'clientId' | 'languages' | 'ttlSeconds'> & { code: string },
  ): Promise<string>;
};

/** What a mail may mention about the tenant, the application and the reader. */
export type LetterContext = {
  language: MailLanguage;
  settings: SettingsModel;
  client: RegisteredClient | undefined;
  /** The tenant’s display name. */
  tenant: string;
  /** The name by which the reader knows the application. */
  application: string;
  logoUrl: string | undefined;
  /** The colour of its button. */
  primary: string;
};

const font = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Sent only if a template enables it, as at Auth0. */
const optional = new Set<LetterName>(['welcome_email']);
/** Sent even if a template disables it: people cannot get in without it. */
const needed = new Set<LetterName>(['reset_email', 'auth_email_by_code', 'login_link']);

type LetterParts = {
  issuer: string;
  clients: ClientStore;
  settings: SettingsStore;
  emailTemplates: EmailTemplateStore;
  log: Log;
};

export function makeLetters(parts: LetterParts): Letters {
  return {
    async write(letter) {
      const context = await contextOf(parts, letter);
      const own = ownLetter(letter, context);
      const template = await parts.emailTemplates.find(letter.name);
      if (!template?.enabled) return own;
      const view = templateView(letter, context, parts.issuer);
      return { ...own, ...tenantLetter(template, view, (field, reason) => ignored(parts, letter.name, field, reason)) };
    },
    async preview(letter, template) {
      const context = await contextOf(parts, letter);
      const problems: Record<string, string> = {};
      const own = tenantLetter(template, templateView(letter, context, parts.issuer), (field, reason) => {
        problems[field] = reason;
      });
      return { mail: { ...ownLetter(letter, context), ...own }, problems };
    },
    async linkRules(name, clientId) {
      const template = await parts.emailTemplates.find(name);
      const client = await mentionedClient(parts, clientId);
      const isEnabled = template?.enabled ?? !optional.has(name);
      const application = presentClient(client);
      const result =
        isEnabled && template?.resultUrl
          ? renderResultUrl(template.resultUrl, { application, client: application })
          : undefined;
      if (result?.kind === 'failed') ignored(parts, name, 'resultUrl', result.reason);
      return {
        isSent: isEnabled || needed.has(name),
        ttlSeconds: (isEnabled && template?.urlLifetimeSeconds) || undefined,
        resultUrl: result?.kind === 'rendered' ? result.text : undefined,
        includeEmail: template?.includeEmailInRedirect ?? true,
      };
    },
    async writeText({ code, ttlSeconds, ...about }) {
      const { language, application } = await contextOf(parts, about);
      const { codeSentence, auth_email_by_code: texts } = language.strings;
      const values = { application, code, time: spellTime(ttlSeconds ?? 0, language.locale) };
      return `${fill(codeSentence, values)} ${texts.otherwise}`;
    },
  };
}

function ignored({ log }: LetterParts, template: LetterName, field: string, reason: string): void {
  log.warn({ template, field, reason }, "a part of the tenant's mail template was ignored");
}

async function contextOf(
  parts: LetterParts,
  { account, clientId, languages, invitation }: Pick<Letter, 'account' | 'clientId' | 'languages' | 'invitation'>,
): Promise<LetterContext> {
  const settings = await parts.settings.load();
  const client = await mentionedClient(parts, clientId);
  const tenant = settings.friendlyName ?? 'Gatepost';
  const branding = brandingOf(settings);
  // An invitation looks like the organization's pages, to which it leads.
  const own = invitation?.organization.branding;
  const primary = own?.colors?.primary ?? branding.primary ?? defaultPrimary;
  return {
    language: chooseMailLanguage(languages, account?.userMetadata, settings.enabledLocales),
    settings,
    client,
    tenant,
    application: oneLine(client ? client.name || client.clientId : tenant),
    logoUrl: own?.logo_url ?? client?.logoUri ?? branding.logoUrl,
    primary,
  };
}

async function mentionedClient({ clients }: LetterParts, clientId: string | undefined) {
  const client = clientId === undefined ? undefined : await clients.find(clientId);
  return client?.isVouchedFor ? client : undefined;
}

/** In our own words and look. */
function ownLetter(letter: Letter, context: LetterContext): Omit<Mail, 'to'> {
  const { language, application, tenant, settings, logoUrl, primary } = context;
  const colors = { primary, onPrimary: textOn(primary) };
  const { strings, locale } = language;
  const { url, code } = letter;
  const time = spellTime(letter.ttlSeconds ?? 0, locale);
  const { organization, inviter = '' } = letter.invitation ?? {};
  const invited = { organization: oneLine(organization?.display_name ?? ''), inviter: oneLine(inviter) };
  const changed = letter.change && {
    when: spellMoment(letter.change.at, locale),
    ip: letter.change.ip,
    factor: letter.change.provider ?? (letter.change.factor && strings.factorNames[letter.change.factor]),
  };
  const values = { application, tenant, email: letter.email, code, time, ...invited, ...changed };
  const texts = Object.fromEntries(
    Object.entries(strings[letter.name]).map(([name, text]) => [name, fill(text, values)]),
  ) as MailStrings[LetterName];
  const supportUrl = settings.supportUrl ?? (settings.supportEmail ? `mailto:${settings.supportEmail}` : undefined);
  const { copy, support } = strings;
  const view = { locale, font, colors, texts, title: texts.subject, application, logoUrl, tenant, copy, support };
  return {
    subject: texts.subject,
    html: renderOwn('mail', { ...view, supportUrl, url, code }),
    text: ownText(texts, { url, code: code && fill(strings.codeSentence, values), from: tenant }),
  };
}

function ownText(
  { lead, expiry, otherwise }: MailStrings[LetterName],
  { url, code, from }: { url: string | undefined; code: string | undefined; from: string },
): string {
  const paragraphs = code ? [code, otherwise] : [lead, url, expiry, otherwise];
  return `${paragraphs.filter(Boolean).join('\n\n')}\n\n-- \n${from}\n`;
}

/** The parts replaced by the template. A part that fails stays as in our own letter. */
function tenantLetter(
  template: TemplateFields,
  view: object,
  note: (field: string, reason: string) => void,
): Partial<Omit<Mail, 'to'>> {
  const html = template.body ? renderTenantBody(template.body, view) : undefined;
  const subject = template.subject ? renderLine(template.subject, view) : undefined;
  const from = template.sender ? renderSender(template.sender, view) : undefined;
  for (const [field, part] of Object.entries({ body: html, subject, from }))
    if (part?.kind === 'failed') note(field, part.reason);
  return {
    ...(html?.kind === 'rendered' && { html: html.html }),
    ...(subject?.kind === 'rendered' && subject.text !== '' && { subject: subject.text }),
    ...(from?.kind === 'rendered' && { from: from.text }),
  };
}

/** The variables of a template, by Auth0’s names ("Customize Email Templates", common variables). */
function templateView(
  { account, email, connection, url, code, invitation }: Letter,
  context: LetterContext,
  issuer: string,
): object {
  const { settings, client, language, tenant, logoUrl, primary } = context;
  const { sub: _, ...claims } = account ? accountClaims(account) : { sub: '', email, email_verified: false };
  const metadata = { user_metadata: account?.userMetadata ?? {}, app_metadata: account?.appMetadata ?? {} };
  const { host } = new URL(issuer);
  return {
    user: { ...claims, email, ...(account && { user_id: account.userId }), ...metadata },
    ...metadata,
    application: presentClient(client),
    client: presentClient(client),
    connection: { name: connection },
    request_language: language.locale,
    tenant: host.split('.', 1)[0],
    friendly_name: tenant,
    support_email: settings.supportEmail ?? '',
    support_url: settings.supportUrl ?? '',
    custom_domain: { domain: host },
    branding: { logo_url: logoUrl ?? '', colors: { primary } },
    email,
    url,
    code,
    ...(invitation && {
      organization: invitation.organization,
      inviter: { name: invitation.inviter },
    }),
  };
}

function presentClient(client: RegisteredClient | undefined): object {
  const callback = client?.callbacks.map((uri) => URL.parse(uri)).find((uri) => uri?.protocol.startsWith('http'));
  return {
    name: client ? client.name || client.clientId : '',
    clientID: client?.clientId ?? '',
    metadata: client?.clientMetadata ?? {},
    logo_uri: client?.logoUri ?? '',
    callback_domain: callback?.origin ?? '',
  };
}

/** A name in a form that a subject can contain. */
function oneLine(name: string): string {
  return name
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 100);
}
