/** `branding`: how the pages look, and `branding/templates/universal-login`, the tenant's own page template. */
import { z } from 'zod';
import { httpUri } from '../http/http-uri.ts';
import { checkTemplate } from '../pages/custom-template.ts';
import type { StoredBranding } from '../settings/branding.ts';
import { gone, ok, operation } from './operation.ts';
import { badBody, ManagementProblem } from './problem.ts';
import { cleared } from './shapes.ts';

const color = z.string().regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, 'Not a colour such as #0d5f50');
const gradient = z.strictObject({
  type: z.literal('linear-gradient'),
  start: color,
  end: color,
  angle_deg: z.number().int().min(0).max(360),
});

/** Absent: unchanged. Null or empty: as if never set. */
export const brandingChange = z
  .strictObject({
    logo_url: cleared(httpUri),
    favicon_url: cleared(httpUri),
    colors: z
      .strictObject({ primary: cleared(color), page_background: cleared(z.union([color, gradient])) })
      .partial()
      .nullable(),
    font: z
      .strictObject({ url: cleared(httpUri) })
      .partial()
      .nullable(),
  })
  .partial();

export const getBranding = operation({
  run: async ({ parts }) => ok((await parts.settings.load()).branding),
});

export const updateBranding = operation({
  body: brandingChange,
  async run({ parts: { settings }, body }) {
    const { branding } = await settings.update((before) => ({
      branding: mergeBranding(before.branding as StoredBranding, body),
    }));
    return ok(branding);
  },
});

export function mergeBranding(before: StoredBranding, body: z.infer<typeof brandingChange>): StoredBranding {
  const merged = {
    ...before,
    ...body,
    ...(body.colors && { colors: { ...before.colors, ...body.colors } }),
    ...(body.font && { font: { ...before.font, ...body.font } }),
  };
  return withoutEmpty(merged) as StoredBranding;
}

/** Drops nulls, and objects left empty. */
function withoutEmpty(value: object): object {
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    typeof inner === 'object' && inner !== null ? withoutEmpty(inner) : inner,
  ]);
  const isLeft = (inner: unknown) => inner !== null && inner !== undefined && !isEmptyObject(inner);
  return Object.fromEntries(entries.filter(([, inner]) => isLeft(inner)));
}

const isEmptyObject = (value: unknown) => typeof value === 'object' && Object.keys(value as object).length === 0;

export const getTemplate = operation({
  async run({ parts }) {
    const body = await parts.templates.find();
    if (body === null) throw new ManagementProblem(404, 'template_not_found', 'No template is set');
    return ok({ body });
  },
});

/** Auth0 accepts `{template}`, and the bare template as a JSON string or as HTML. */
export const putTemplate = operation({
  body: z.union([z.strictObject({ template: z.string() }).transform(({ template }) => template), z.string()]),
  async run({ parts: { templates }, body }) {
    const problem = checkTemplate(body);
    if (problem !== undefined) throw badBody(problem);
    const isNew = (await templates.find()) === null;
    await templates.put(body);
    return { status: isNew ? 201 : 204 };
  },
});

export const deleteTemplate = operation({
  async run({ parts }) {
    await parts.templates.remove();
    return gone;
  },
});
