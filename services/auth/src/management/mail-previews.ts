/**
 * `email-templates/{name}/previews`: a mail with sample contents, in words that have not been saved yet. Not in Auth0. Its HTML is shown
 * in a frame of the caller's own page, and nowhere else (previews.ts).
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { z } from 'zod';
import { isSent, sampleLetter } from '../mail/sample-letter.ts';
import { checkEmailTemplate, type TemplateFields } from '../mail/tenant-letter.ts';
import type { Page } from '../pages/pages.ts';
import { created, operation } from './operation.ts';
import { previewSeconds } from './preview-store.ts';
import { badBody, ManagementProblem } from './problem.ts';

export const createMailPreview = operation({
  /** Omitted fields use the saved version; null uses our default. */
  body: z
    .strictObject({
      body: z.string().max(100_000).nullable(),
      subject: z.string().max(1_000).nullable(),
      from: z.string().trim().max(1_000).nullable(),
      ui_locales: z.string().max(100),
      client_id: z.string().max(256),
    })
    .partial(),
  async run({ parts, params: { id = '' }, body, origins }) {
    if (!isSent(id)) throw badBody(`${id} is never sent`);
    if (origins.length === 0) throw badBody('the application has no web origin that could show a preview');
    const saved = await parts.emailTemplates.find(id);
    const given = { body: body.body, subject: body.subject, sender: body.from };
    const template: TemplateFields = {
      ...(saved && { body: saved.body, subject: saved.subject, sender: saved.sender }),
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    };
    const problem = checkEmailTemplate(template);
    if (problem !== undefined) throw badBody(problem);
    const sample = { issuer: baseUrlOf(parts.issuer), clientId: body.client_id, uiLocales: body.ui_locales };
    const { mail, problems } = await parts.letters.preview(sampleLetter(id, sample), template);
    const [failed] = Object.entries(problems);
    // Our own text would appear instead, and nobody would know why.
    if (failed) throw new ManagementProblem(400, 'invalid_template', `${failed.join(': ')}`);
    const key = await parts.previews.save(framed(mail.html ?? '', origins));
    return created({
      subject: mail.subject,
      ...(mail.from !== undefined && { from: mail.from }),
      text: mail.text,
      url: `${sample.issuer}branding-preview/${key}`,
      expires_at: new Date(Date.now() + previewSeconds * 1000).toISOString(),
    });
  },
});

/** As a mail program shows it: with its own styles and pictures, and no scripts. */
function framed(html: string, origins: string[]): Page {
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src https: http: data:',
    "form-action 'none'",
    "base-uri 'none'",
    `frame-ancestors ${origins.join(' ')}`,
    'sandbox',
  ].join('; ');
  return {
    html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  };
}
