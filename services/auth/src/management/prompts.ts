/** `prompts`: how people log in, and the tenant's own words on the pages. */
import { z } from 'zod';
import { checkCustomTexts } from '../pages/custom-texts.ts';
import { isSpoken, locales } from '../pages/language.ts';
import { featureNotAvailable } from './absent.ts';
import { ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { badBody } from './problem.ts';

async function readPrompts({ settings }: Parts): Promise<object> {
  const { identifierFirst } = await settings.load();
  return {
    universal_login_experience: 'new',
    identifier_first: identifierFirst,
    webauthn_platform_first_factor: false,
  };
}

export const getPrompts = operation({ run: async ({ parts }) => ok(await readPrompts(parts)) });

/** `identifier_first` is the setting in `tenants/settings`. There is one login experience, and no platform authenticator. */
export const updatePrompts = operation({
  body: z
    .strictObject({
      universal_login_experience: z.enum(['new', 'classic']).nullable(),
      identifier_first: z.boolean().nullable(),
      webauthn_platform_first_factor: z.boolean().nullable(),
    })
    .partial(),
  async run({ parts, body }) {
    if (body.universal_login_experience === 'classic')
      throw featureNotAvailable('universal_login_experience cannot be changed');
    if (body.webauthn_platform_first_factor)
      throw featureNotAvailable('webauthn_platform_first_factor cannot be changed');
    if (typeof body.identifier_first === 'boolean')
      await parts.settings.update({ identifierFirst: body.identifier_first });
    return ok(await readPrompts(parts));
  },
});

/** Tools request the texts of every Auth0 prompt: for pages that we lack there are none. */
export const getCustomText = operation({
  run: async ({ parts, params }) =>
    ok(await parts.customTexts.find(params.prompt as string, params.language as string)),
});

export const putCustomText = operation({
  body: z.record(z.string(), z.record(z.string(), z.string())),
  async run({ parts, params, body }) {
    const { prompt, language } = params as Record<'prompt' | 'language', string>;
    const problem =
      checkCustomTexts(prompt, body) ??
      (Object.keys(body).length > 0 && !isSpoken(language)
        ? `${language}: not a language of the pages, which are ${locales.join(', ')}`
        : undefined);
    if (problem !== undefined) throw badBody(problem);
    const said = Object.entries(body).filter(([, texts]) => Object.keys(texts).length > 0);
    await parts.customTexts.put(prompt, language, Object.fromEntries(said));
    return ok(await parts.customTexts.find(prompt, language));
  },
});
