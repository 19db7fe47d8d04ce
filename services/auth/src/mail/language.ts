/** Chooses the language of a message to somebody. */
import type { Request } from 'express';
import { tagsByPreference } from '../pages/language.ts';
import { de } from './strings/de.ts';
import { en, type MailStrings } from './strings/en.ts';
import { es } from './strings/es.ts';
import { fr } from './strings/fr.ts';
import { ja } from './strings/ja.ts';
import { pt } from './strings/pt.ts';

/** What the request that caused a message says about its reader’s language. Empty if the request is not, or may not be, the reader’s own. */
export type Languages = {
  /** `ui_locales` of the authorization request; takes precedence. */
  uiLocales?: string | undefined;
  acceptLanguage?: string | undefined;
};

export type MailLanguage = { locale: string; strings: MailStrings };

const languages: Record<string, MailStrings> = { en, de, es, fr, pt, ja };

/**
 * The first of our languages that the request asks for; else the one in the account’s `user_metadata.lang`; else the tenant’s first. Only
 * languages that the tenant has enabled, if it has named any.
 */
export function chooseMailLanguage(
  { uiLocales = '', acceptLanguage = '' }: Languages,
  userMetadata: unknown,
  enabled: readonly string[] = [],
): MailLanguage {
  const { lang } = (userMetadata ?? {}) as { lang?: unknown };
  const wanted = [
    ...tagsByPreference(uiLocales, acceptLanguage),
    ...(typeof lang === 'string' ? [lang] : []),
    ...enabled,
  ];
  const primaries = new Set(enabled.map(primaryOf));
  for (const locale of wanted.map(primaryOf)) {
    const isEnabled = primaries.size === 0 || primaries.has(locale);
    if (isEnabled && Object.hasOwn(languages, locale)) return { locale, strings: languages[locale] as MailStrings };
  }
  return { locale: 'en', strings: en };
}

const primaryOf = (tag: string) => tag.toLowerCase().split(/[-_]/, 1)[0] ?? '';

/** For an API call. Auth0’s SDKs send the language of the page they run in as a header of their own. */
export function languagesOf(request: Request): Languages {
  return { acceptLanguage: request.get('x-request-language') ?? request.get('accept-language') };
}

/** `5 days`, in the largest unit that is exact. */
export function spellTime(seconds: number, locale: string): string {
  const units = { day: 86_400, hour: 3_600, minute: 60, second: 1 };
  const [unit, length] = Object.entries(units).find(([, size]) => seconds >= size && seconds % size === 0) ?? [
    'second',
    1,
  ];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / length);
}

/** `November 23, 2026 at 11:26:25 AM UTC`. */
export function spellMoment(at: Date, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(at);
}
