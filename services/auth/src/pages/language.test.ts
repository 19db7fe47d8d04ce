/** What every language has to say, and with which values. */
import { expect, test } from '@jest/globals';
import { chooseLanguage, locales } from './language.ts';
import { en } from './strings/en.ts';

type Texts = { [key: string]: string | Texts };

/** Every text by its path. */
function textsOf(texts: Texts, path = ''): [path: string, text: string][] {
  return Object.entries(texts).flatMap(([key, value]) =>
    typeof value === 'string' ? [[path + key, value] as [string, string]] : textsOf(value, `${path}${key}.`),
  );
}

const placeholders = (text: string) => [...text.matchAll(/\{\w*\}/g)].map(([name]) => name).sort();
const english = textsOf(en);

test('the pages exist in English, German, Spanish, French, Portuguese and Japanese', () => {
  expect(locales).toEqual(['en', 'de', 'es', 'fr', 'pt', 'ja']);
});

test.each(locales)(
  'the %s texts have the same keys in the same order and the same values as the English ones',
  (locale) => {
    const own = textsOf(chooseLanguage(locale).strings);
    expect(own.map(([path]) => path)).toEqual(english.map(([path]) => path));
    const valuesOf = (texts: [string, string][]) => texts.map(([path, text]) => [path, placeholders(text)]);
    expect(valuesOf(own)).toEqual(valuesOf(english));
  },
);

test.each(locales.slice(1))(
  'the %s texts contain nothing in English except words that are the same in both',
  (locale) => {
    const own = new Map(textsOf(chooseLanguage(locale).strings));
    const same = english.filter(([path, text]) => own.get(path) === text).map(([path]) => path);
    const ours = ['passkeys', 'passkey', 'nameLabel'].map((key) => `account.${key}`);
    const allowed = ['error.code', 'error.description', 'common.errorPrefix', ...ours];
    expect(same.filter((path) => !allowed.includes(path))).toEqual([]);
  },
);

test('French has a narrow no-break space before its punctuation marks', () => {
  const flawed = textsOf(chooseLanguage('fr').strings).filter(([, text]) => /[^\u202f][?!;]| :/.test(text));
  expect(flawed).toEqual([]);
});

test.each(locales)('the %s texts contain no empty text, no straight apostrophe and no double space', (locale) => {
  const flawed = textsOf(chooseLanguage(locale).strings).filter(([, text]) => /^\s*$|'| {2}|^ | $/.test(text));
  expect(flawed.filter(([path]) => path !== 'common.errorPrefix')).toEqual([]);
});

test('a language tag in which no date could be written is none', () => {
  expect(chooseLanguage('de-12', '', ['de-12', 'pt-br1', 'fr-CA']).tag).toBe('fr-CA');
  expect(chooseLanguage('de-12', '', ['de-12']).tag).toBe('de');
});
