/** `branding/templates/universal-login`: the tenant's own page template. */
import { z } from '@gatepost/runtime/env';
import { checkTemplate } from '../pages/custom-template.ts';
import { gone, ok, operation } from './operation.ts';
import { badBody, ManagementProblem } from './problem.ts';

export const getTemplate = operation({
  async run({ parts }) {
    const body = await parts.templates.find();
    if (body === null) throw new ManagementProblem(404, 'template_not_found', 'No template is set');
    return ok({ body });
  },
});

/** Auth0 takes `{template}`, and the bare template as a JSON string or as HTML. */
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
