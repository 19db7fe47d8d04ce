/** Chooses the language of a page. */
import { de } from './strings/de.ts';
import { en, type Strings } from './strings/en.ts';
import { es } from './strings/es.ts';
import { fr } from './strings/fr.ts';
import { ja } from './strings/ja.ts';
import { pt } from './strings/pt.ts';

export type Language = { tag: string; dir: 'ltr' | 'rtl'; strings: Strings };

const languages: Language[] = [
  { tag: 'en', dir: 'ltr', strings: en },
  { tag: 'de', dir: 'ltr', strings: de },
  { tag: 'es', dir: 'ltr', strings: es },
  { tag: 'fr', dir: 'ltr', strings: fr },
  { tag: 'pt', dir: 'ltr', strings: pt },
  { tag: 'ja', dir: 'ltr', strings: ja },
];

/** Our languages, by BCP 47 tag: the default if a tenant names none. */
export const locales = languages.map(({ tag }) => tag);

/** Whether a tag names one of our languages, or a region of one (`pt-BR`), in a form that dates and numbers can be written in. */
export function isSpoken(tag: string): boolean {
  return /^[a-z]{2}(-[a-z0-9]{2,8})*$/i.test(tag) && isWellFormed(tag) && spokenAs(tag) !== undefined;
}

function isWellFormed(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}

/**
 * The first enabled language among `ui_locales` (OpenID Connect Core 3.1.2.1: a list in order of preference), then among
 * `Accept-Language` (RFC 9110 12.5.4), else the first enabled one. A region counts if it is enabled; otherwise `de-CH` means German. Never throws.
 *
 * @param enabled tags as in `enabled_locales`; empty: all our languages
 */
export function chooseLanguage(uiLocales = '', acceptLanguage = '', enabled: readonly string[] = []): Language {
  const tags = enabled.filter(isSpoken);
  if (tags.length === 0) tags.push(...locales);
  const wanted = tagsByPreference(uiLocales, acceptLanguage);
  const chosen = wanted.map((each) => match(each, tags)).find((tag) => tag !== undefined) ?? (tags[0] as string);
  return { ...(spokenAs(chosen) as Language), tag: chosen };
}

function match(wanted: string, tags: string[]): string | undefined {
  const lower = wanted.toLowerCase();
  return (
    tags.find((tag) => tag.toLowerCase() === lower) ??
    tags.find((tag) => primary(tag) === lower) ??
    tags.find((tag) => primary(tag) === primary(lower))
  );
}

const primary = (tag: string) => tag.toLowerCase().split('-', 1)[0];
const spokenAs = (tag: string) => languages.find((language) => language.tag === primary(tag));

/** The tags of both, in order of preference. */
export function tagsByPreference(uiLocales: string, acceptLanguage: string): string[] {
  return [...uiLocales.slice(0, 200).split(/\s+/), ...byPreference(acceptLanguage.slice(0, 500))];
}

function byPreference(header: string): string[] {
  return header
    .split(',')
    .map((item) => {
      const [tag = '', ...parameters] = item.trim().split(/\s*;\s*/);
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      return { tag, weight: q === undefined ? 1 : Number(q.slice(2)) || 0 };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag);
}
