/** `/repos/{owner}/{repo}/topics`: where Terraform sets a repository's topics. */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';
import { repositoryOf } from './repository-of.ts';
import { updateRow } from './repository-rows.ts';
import { topicsSchema } from './repository-settings.ts';

const shape = z.object({ names: topicsSchema }).meta({ id: 'Topics' });

export const getTopics = placeOperation({
  id: 'get-all-topics',
  summary: "Get a repository's topics",
  docs: 'https://docs.github.com/rest/repos/repos#get-all-repository-topics',
  answers: { 200: { description: 'The topics', schema: shape } },
  run: ({ place }) => ({ status: 200, body: { names: repositoryOf(place).settings.topics ?? [] } }),
});

export const setTopics = placeOperation({
  id: 'replace-all-topics',
  summary: "Replace a repository's topics",
  docs: 'https://docs.github.com/rest/repos/repos#replace-all-repository-topics',
  body: shape,
  answers: { 200: { description: 'The topics', schema: shape } },
  async run({ parts: { pool }, place, body: { names } }) {
    const topics = [...new Set(names)];
    await updateRow(pool, repositoryOf(place).id, { name: null, visibility: null, settings: { topics } });
    return { status: 200, body: { names: topics } };
  },
});
