/** The tenant's own words on the pages, by prompt and language (`prompts/{prompt}/custom-text/{language}`). */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database } from '../database.ts';
import type { CustomTexts, ScreenTexts } from '../pages/custom-texts.ts';

export type CustomTextStore = {
  /** All texts, cached, in the form that pages need. */
  load(): Promise<CustomTexts>;
  /** The texts of one prompt in one language; an empty object if there are none. */
  find(prompt: string, language: string): Promise<ScreenTexts>;
  /** An empty object removes them. */
  put(prompt: string, language: string, texts: ScreenTexts): Promise<void>;
};

export function makeCustomTextStore(db: Database, changes: Changes): CustomTextStore {
  const cache = makeCache<CustomTexts>({
    changes,
    tables: ['custom_texts'],
    async load() {
      const all: CustomTexts = {};
      for (const { prompt, language, body } of await db.customText.findMany())
        for (const [screen, texts] of Object.entries(body as ScreenTexts))
          all[language] = { ...all[language], [`${prompt}/${screen}`]: texts };
      return all;
    },
  });
  const keyOf = (prompt: string, language: string) => ({ prompt, language: language.toLowerCase() });
  return {
    load: () => cache.get('all'),
    async find(prompt, language) {
      const row = await db.customText.findUnique({ where: { prompt_language: keyOf(prompt, language) } });
      return (row?.body ?? {}) as ScreenTexts;
    },
    async put(prompt, language, body) {
      const key = keyOf(prompt, language);
      if (Object.keys(body).length === 0) await db.customText.deleteMany({ where: key });
      else
        await db.customText.upsert({
          where: { prompt_language: key },
          create: { ...key, body },
          update: { body },
        });
      cache.clear();
    },
  };
}
