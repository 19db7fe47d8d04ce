/** `branding/templates/universal-login`: the tenant's own page template. */
import { z } from '@gatepost/runtime/env';
import { checkTemplate } from '../pages/custom-template.ts';
import type { TemplateStore } from '../settings/templates.ts';
import { badBody, ManagementProblem } from './problem.ts';
import { gone, ok, type Route, route } from './route.ts';

const path = '/branding/templates/universal-login';

export function makeBrandingRoutes(templates: TemplateStore): Route[] {
  return [
    route({
      method: 'get',
      path,
      scopes: ['read:branding'],
      async handle() {
        const body = await templates.find();
        if (body === null) throw new ManagementProblem(404, 'template_not_found', 'No template is set');
        return ok({ body });
      },
    }),
    route({
      method: 'put',
      path,
      scopes: ['update:branding'],
      // Auth0 takes `{template}`, and the bare template as a JSON string or as HTML.
      body: z.union([z.strictObject({ template: z.string() }).transform(({ template }) => template), z.string()]),
      async handle({ body }) {
        const problem = checkTemplate(body);
        if (problem !== undefined) throw badBody(problem);
        const isNew = (await templates.find()) === null;
        await templates.put(body);
        return { status: isNew ? 201 : 204 };
      },
    }),
    route({
      method: 'delete',
      path,
      scopes: ['delete:branding'],
      async handle() {
        await templates.remove();
        return gone;
      },
    }),
  ];
}
