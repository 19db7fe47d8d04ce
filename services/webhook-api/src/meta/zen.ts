/** `GET /zen` and `GET /octocat`: clients ask for these, which need no token, to see whether the API answers. The sentence is ours. */
import { z } from 'zod';
import { openOperation } from '../http/operation.ts';

export const zen = 'Nothing is lost; what comes twice has the same guid.';

const answer = {
  status: 200,
  json: zen,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
};
const answers = { 200: { description: 'A sentence', schema: z.string(), mediaType: 'text/plain' } };

export const getZen = openOperation({
  id: 'get-zen',
  summary: 'Get a sentence',
  docs: 'https://docs.github.com/rest/meta/meta#get-the-zen-of-github',
  answers,
  run: () => answer,
});

export const getOctocat = openOperation({
  id: 'get-octocat',
  summary: 'Get the same sentence: there is no octocat here',
  docs: 'https://docs.github.com/rest/meta/meta#get-octocat',
  answers,
  run: () => answer,
});
