/**
 * Writes the mails that people get, in their language: as HTML and as text, with the name and the logo of the application that they
 * use. Nothing in them that somebody else could have chosen, but what names the application and the address itself: a stranger
 * signs up with anybody’s address and any name.
 */
import type { ClientStore, RegisteredClient } from '../clients/store.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import { renderOwn } from '../pages/engine.ts';
import { fill } from '../pages/fill.ts';
import type { SettingsStore } from '../settings/store.ts';
import { chooseMailLanguage, type Languages, type MailLanguage, spellTime } from './language.ts';
import type { Mail } from './post-box.ts';
import type { MailStrings } from './strings/en.ts';

/** Auth0’s names for the mails that we send, and `login_link`, of which Auth0 has no template of its own. */
export type LetterName = Exclude<keyof MailStrings, 'codeSentence' | 'copy' | 'support'>;

export type Letter = {
  name: LetterName;
  /** To whom it goes. */
  email: string;
  /** Of whom it speaks; undefined if nobody has that address yet. */
  account: AccountModel | undefined;
  connection: string;
  /** The application that it is about. */
  clientId: string | undefined;
  languages: Languages;
  /** Where its button leads. */
  url?: string;
  code?: string;
  /** How long the link or the code is good for. */
  ttlSeconds?: number;
};

export type Letters = {
  write(letter: Letter): Promise<Omit<Mail, 'to'>>;
  /** A code as a text message. */
  writeText(
    message: Pick<Letter, 'account' | 'clientId' | 'languages' | 'ttlSeconds'> & { code: string },
  ): Promise<string>;
};

/** What a mail may say of the tenant, the application and the reader. */
export type LetterContext = {
  language: MailLanguage;
  settings: SettingsModel;
  client: RegisteredClient | undefined;
  /** The tenant’s own, for people. */
  tenant: string;
  /** What the reader knows it by. */
  application: string;
  logoUrl: string | undefined;
};

const font = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const colors = { primary: '#0d5f50', onPrimary: '#ffffff' };

export function makeLetters(parts: { clients: ClientStore; settings: SettingsStore }): Letters {
  const contextOf = async ({
    account,
    clientId,
    languages,
  }: Pick<Letter, 'account' | 'clientId' | 'languages'>): Promise<LetterContext> => {
    const settings = await parts.settings.load();
    const client = clientId === undefined ? undefined : await parts.clients.find(clientId);
    const tenant = settings.friendlyName ?? 'Gatepost';
    return {
      language: chooseMailLanguage(languages, account?.userMetadata),
      settings,
      client,
      tenant,
      application: oneLine(client ? client.name || client.clientId : tenant),
      logoUrl: client?.logoUri ?? settings.pictureUrl ?? undefined,
    };
  };

  return {
    async write(letter) {
      const context = await contextOf(letter);
      return ownLetter(letter, context);
    },
    async writeText({ code, ttlSeconds, ...about }) {
      const { language, application } = await contextOf(about);
      const { codeSentence, auth_email_by_code: texts } = language.strings;
      const values = { application, code, time: spellTime(ttlSeconds ?? 0, language.locale) };
      return `${fill(codeSentence, values)} ${texts.otherwise}`;
    },
  };
}

/** In our own words and look. */
function ownLetter(letter: Letter, context: LetterContext): Omit<Mail, 'to'> {
  const { language, application, tenant, settings, logoUrl } = context;
  const { strings, locale } = language;
  const { url, code } = letter;
  const time = spellTime(letter.ttlSeconds ?? 0, locale);
  const values = { application, tenant, email: letter.email, code, time };
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

/** A name as it may stand in a subject. */
function oneLine(name: string): string {
  return name
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 100);
}
