/**
 * `branding/previews`: any page with sample contents, in branding that has not been saved yet. Not in Auth0. The page is shown in a frame
 * of the caller's own page, and nowhere else, and does nothing there: no script runs and no form is sent.
 */

import { baseUrlOf } from '@gatepost/runtime/issuer';
import express, { type Router } from 'express';
import { z } from 'zod';
import { setRoute } from '../http/route.ts';
import { checkTemplate } from '../pages/custom-template.ts';
import type { Page } from '../pages/pages.ts';
import { samples } from '../pages/sample.ts';
import { screens } from '../pages/screens.ts';
import { brandingOf } from '../settings/branding.ts';
import { brandingChange, mergeBranding } from './branding.ts';
import { created, ok, operation } from './operation.ts';
import { type PreviewStore, previewSeconds } from './preview-store.ts';
import { badBody, ManagementProblem } from './problem.ts';

export const listPreviews = operation({
  run: () => ok(samples.map(({ name, page }) => ({ page: name, themed: screens[page].themed }))),
});

export const createPreview = operation({
  body: z.strictObject({
    page: z.string().max(100),
    /** Omitted: the saved template. Null: ours. */
    template: z.string().nullable().optional(),
    branding: brandingChange.optional(),
    ui_locales: z.string().max(100).optional(),
  }),
  async run({ parts, body, origins }) {
    const sample = samples.find(({ name }) => name === body.page);
    if (!sample) throw badBody(`page: there is none called ${body.page}`);
    if (origins.length === 0) throw badBody('the application has no web origin that could show a preview');
    const problem = body.template ? checkTemplate(body.template) : undefined;
    if (problem !== undefined) throw badBody(problem);
    const settings = await parts.settings.load();
    let failed: string | undefined;
    const shown = sample.render(
      body.ui_locales,
      brandingOf({ ...settings, branding: mergeBranding(settings.branding as object, body.branding ?? {}) }),
      (body.template === undefined ? await parts.templates.find() : body.template) ?? undefined,
      {
        tenant: { friendly_name: settings.friendlyName ?? 'Gatepost' },
        enabledLocales: settings.enabledLocales,
        customTexts: await parts.customTexts.load(),
        onTemplateProblem: (reason) => {
          failed = reason;
        },
      },
    );
    // Our own page would appear instead, and nobody would know why.
    if (failed !== undefined) throw new ManagementProblem(400, 'invalid_template', `The template fails: ${failed}`);
    const id = await parts.previews.save(inFrameOf(shown, origins));
    const expires_at = new Date(Date.now() + previewSeconds * 1000).toISOString();
    return created({ url: `${baseUrlOf(parts.issuer)}branding-preview/${id}`, expires_at });
  },
});

function inFrameOf({ html, headers }: Page, origins: string[]): Page {
  const { 'x-frame-options': _never, 'content-security-policy': policy = '', ...rest } = headers;
  const framed = policy.replace(/frame-ancestors [^;]*/, `frame-ancestors ${origins.join(' ')}`);
  return { html, headers: { ...rest, 'content-security-policy': `${framed}; sandbox` } };
}

export function makePreviewRoute(previews: PreviewStore): Router {
  const router = express.Router();
  router.get('/branding-preview/:id', async (request, response) => {
    setRoute(response, 'branding-preview');
    const page = await previews.find(request.params.id);
    // Opened as a page of its own, it could be mistaken for a real one.
    if (!page || (request.get('sec-fetch-dest') ?? 'iframe') !== 'iframe') {
      response.status(404).type('text').send('There is no such preview any more.');
      return;
    }
    response.set(page.headers).send(page.html);
  });
  return router;
}
