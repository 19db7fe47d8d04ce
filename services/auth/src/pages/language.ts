/** Which of our languages a page speaks. */
import { de } from './strings/de.ts';
import { en, type Strings } from './strings/en.ts';

export type Language = { locale: string; dir: 'ltr' | 'rtl'; strings: Strings };

const languages: Language[] = [
  { locale: 'en', dir: 'ltr', strings: en },
  { locale: 'de', dir: 'ltr', strings: de },
];

/** The languages we speak, by their BCP 47 tags, for discovery's `ui_locales_supported`. */
export const locales = languages.map((language) => language.locale);

/**
 * The first language we speak among `ui_locales` (OpenID Connect Core 3.1.2.1: a list in order of preference), then among
 * `Accept-Language` (RFC 9110 12.5.4), else English. A region is ignored: `de-CH` is German. Never throws.
 */
export function chooseLanguage(uiLocales = '', acceptLanguage = ''): Language {
  const wanted = [...uiLocales.slice(0, 200).split(/\s+/), ...byPreference(acceptLanguage.slice(0, 500))];
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split('-', 1)[0];
    const language = languages.find(({ locale }) => locale === primary);
    if (language) return language;
  }
  return languages[0] as Language;
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
