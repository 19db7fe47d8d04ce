/** `email-templates`: the mails in the tenant’s own words. Templates of mails that are never sent are stored as given. */
import { z } from 'zod';
import type { EmailTemplateModel } from '../generated/models.ts';
import { checkEmailTemplate } from '../mail/tenant-letter.ts';
import { ok, operation } from './operation.ts';
import { badBody, conflict, ManagementProblem, missing } from './problem.ts';

/** Auth0's names. docs/reference/mail.md lists which mails are sent. */
const names = [
  'verify_email',
  'verify_email_by_code',
  'auth_email_by_code',
  'reset_email',
  'reset_email_by_code',
  'welcome_email',
  'blocked_account',
  'stolen_credentials',
  'enrollment_email',
  'mfa_oob_code',
  'user_invitation',
  'change_password',
  'password_reset',
  'async_approval',
] as const;
const templateName = z.enum(names);

const fields = z.strictObject({
  template: templateName,
  body: z.string().max(100_000).nullish(),
  from: z.string().trim().max(1_000).nullish(),
  resultUrl: z.string().trim().max(1_000).nullish(),
  subject: z.string().max(1_000).nullish(),
  syntax: z.literal('liquid', { error: 'Only the syntax liquid is supported' }).nullish(),
  urlLifetimeInSeconds: z.int().min(0).max(2_592_000).nullish(),
  includeEmailInRedirect: z.boolean().optional(),
  enabled: z.boolean().nullish(),
});
const changed = fields.partial({ template: true });
type Fields = z.infer<typeof changed>;

export const getEmailTemplate = operation({
  async run({ parts, params }) {
    const name = nameOf(params);
    const template = await parts.emailTemplates.find(name);
    if (!template) throw notSet(name);
    return ok(present(template));
  },
});

export const createEmailTemplate = operation({
  body: fields,
  async run({ parts, body }) {
    const made = await parts.emailTemplates.create({ name: body.template, ...columns(body) });
    if (!made) throw conflict('email_template_conflict', `The template ${body.template} already exists.`);
    return ok(present(made));
  },
});

/** Fields that the body leaves out return to their defaults. */
export const setEmailTemplate = operation({
  body: changed,
  async run({ parts, params, body }) {
    const name = nameOf(params, body);
    const empty = { body: null, from: null, resultUrl: null, subject: null, urlLifetimeInSeconds: null };
    const all = { ...empty, enabled: true, includeEmailInRedirect: true, ...body };
    const template = await parts.emailTemplates.update(name, columns(all));
    if (!template) throw notSet(name);
    return ok(present(template));
  },
});

export const updateEmailTemplate = operation({
  body: changed,
  async run({ parts, params, body }) {
    const name = nameOf(params, body);
    const template = await parts.emailTemplates.update(name, columns(body));
    if (!template) throw notSet(name);
    return ok(present(template));
  },
});

function nameOf({ id }: Record<string, string>, body: Fields = {}): (typeof names)[number] {
  const name = templateName.safeParse(id);
  if (!name.success)
    throw new ManagementProblem(
      400,
      'invalid_uri',
      `Path validation error: 'String does not match any of: ${names.join(', ')}' on property templateName.`,
    );
  if (body.template !== undefined && body.template !== name.data) throw badBody('template is not the one in the path');
  return name.data;
}

/** The columns that the body sets. @throws ManagementProblem 400 for a template that could not be rendered */
function columns(body: Fields) {
  const texts = { body: body.body, sender: body.from, subject: body.subject, resultUrl: body.resultUrl };
  const problem = checkEmailTemplate(texts);
  if (problem !== undefined) throw badBody(problem);
  const given = {
    ...texts,
    // 0 means the default lifetime at Auth0.
    urlLifetimeSeconds: body.urlLifetimeInSeconds === 0 ? null : body.urlLifetimeInSeconds,
    includeEmailInRedirect: body.includeEmailInRedirect,
    enabled: body.enabled ?? undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const notSet = (name: string) => missing('email_template', `The template ${name} does not exist.`);

function present(template: EmailTemplateModel): object {
  return {
    template: template.name,
    body: template.body,
    from: template.sender,
    resultUrl: template.resultUrl,
    subject: template.subject,
    syntax: 'liquid',
    urlLifetimeInSeconds: template.urlLifetimeSeconds,
    includeEmailInRedirect: template.includeEmailInRedirect,
    enabled: template.enabled,
  };
}
