/**
 * `GET /docs`: the description as one page to read. No script, nothing from elsewhere: the usual viewers bring install scripts that report
 * to their makers, or load fonts and code from other hosts.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';
import { describeApi } from './describe.ts';
import { renderPage, style } from './docs-page.ts';

const styleHash = createHash('sha256').update(style).digest('base64');

export const getDocs = openOperation({
  id: 'get-docs',
  summary: 'This description, to read',
  answers: { 200: { description: 'A page', schema: z.string(), mediaType: 'text/html' } },
  run: ({ routes, base }) => ({
    status: 200,
    json: renderPage(describeApi(routes), base),
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
    },
  }),
});
