/** `GET` and `POST /orgs/{org}/repos`. */
import { z } from 'zod';
import { changeInPlace } from '../hooks/lock.ts';
import { ApiError, validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';
import { repositoryNameSchema } from './name.ts';
import { countRows, insertRow, listRows, nameTaken } from './repository-rows.ts';
import { readSettings, settingsInput } from './repository-settings.ts';

export const listRepositories = placeOperation({
  id: 'list-for-org',
  summary: 'List repositories',
  docs: 'https://docs.github.com/rest/repos/repos#list-organization-repositories',
  query: pageQuery,
  answers: { 200: { description: 'Repositories, oldest first', schema: z.array(repositorySchema) } },
  async run({ parts: { pool }, place: { account, role }, query, base, url }) {
    const page = { limit: query.per_page, offset: offsetOf(query) };
    const { repositories, total } = await listRows(pool, account.id, page);
    return {
      status: 200,
      body: repositories.map((repository) => presentRepository(account, repository, base, role)),
      headers: pageLinks(url, query, total),
    };
  },
});

/** Limited because a dispatcher knows all of them by name, and each may have hooks. */
const repositoriesMax = 10_000;

export const createRepository = placeOperation({
  id: 'create-in-org',
  summary: 'Create a repository',
  docs: 'https://docs.github.com/rest/repos/repos#create-an-organization-repository',
  creates: true,
  body: settingsInput.extend({ name: repositoryNameSchema }).meta({ id: 'RepositoryCreation' }),
  answers: { 201: { description: 'The repository', schema: repositorySchema } },
  async run({ parts, place, body: { name, ...input }, base, checkTime }) {
    const { account, role } = place;
    const made = await changeInPlace({ parts, place, checkTime }, async (db) => {
      if ((await countRows(db, account.id)) >= repositoriesMax)
        throw validationFailed({
          resource: 'Repository',
          code: 'custom',
          message: `Cannot have more than ${repositoriesMax} repositories`,
        });
      return insertRow(db, account.id, { name, ...readSettings(input) });
    });
    if (!made) throw new ApiError(422, 'Repository creation failed.', { errors: [nameTaken] });
    const repository = presentRepository(account, made, base, role);
    return { status: 201, body: repository, headers: { Location: repository.url } };
  },
});
