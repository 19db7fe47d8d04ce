/** `GET /docs`: the description as a readable page, served entirely from here (packages/api-docs/src/viewer.ts). */
import { docsPage, docsPolicy, docsScript } from '@gatepost/api-docs/viewer';
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';

const page = docsPage({ title: 'Gatepost webhook API', script: 'docs/viewer.js', description: 'openapi.json' });

export const getDocs = openOperation({
  id: 'get-docs',
  summary: 'This description as a page',
  answers: { 200: { description: 'A page', schema: z.string(), mediaType: 'text/html' } },
  run: () => ({
    status: 200,
    json: page,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': docsPolicy },
  }),
});

export const getDocsScript = openOperation({
  id: 'get-docs-script',
  summary: 'The script of that page',
  answers: { 200: { description: 'A script', schema: z.string(), mediaType: 'text/javascript' } },
  run: () => ({
    status: 200,
    json: docsScript(),
    headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
  }),
});
