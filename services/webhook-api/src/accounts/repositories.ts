/** `GET` and `POST /orgs/{org}/repos`. */
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';
import { repositoryNameSchema } from './name.ts';

export const listRepositories = placeOperation({
  id: 'list-for-org',
  summary: 'List repositories',
  docs: 'https://docs.github.com/rest/repos/repos#list-organization-repositories',
  query: pageQuery,
  answers: { 200: { description: 'Repositories, oldest first', schema: z.array(repositorySchema) } },
  async run({ parts: { database }, place: { account, role }, query, base, address }) {
    const where = { accountId: account.id };
    const [repositories, total] = await Promise.all([
      database.repository.findMany({ where, orderBy: { id: 'asc' }, take: query.per_page, skip: offsetOf(query) }),
      database.repository.count({ where }),
    ]);
    return {
      status: 200,
      body: repositories.map((repository) => presentRepository(account, repository, base, role)),
      headers: pageLinks(address, query, total),
    };
  },
});

export const createRepository = placeOperation({
  id: 'create-in-org',
  summary: 'Create a repository',
  docs: 'https://docs.github.com/rest/repos/repos#create-an-organization-repository',
  body: z.object({ name: repositoryNameSchema }),
  answers: { 201: { description: 'The repository', schema: repositorySchema } },
  async run({ parts: { database }, place: { account, role }, body: { name }, base }) {
    // The unique index is on lower(name), which Prisma cannot name.
    const [made] = await database.$queryRaw<{ id: number; created_at: Date }[]>`
      INSERT INTO repositories (account_id, name) VALUES (${account.id}, ${name})
      ON CONFLICT (account_id, lower(name)) DO NOTHING RETURNING id, created_at`;
    if (!made)
      throw validationFailed({
        resource: 'Repository',
        code: 'custom',
        field: 'name',
        message: 'name already exists on this account',
      });
    const repository = presentRepository(account, { id: made.id, name, createdAt: made.created_at }, base, role);
    return { status: 201, body: repository, headers: { Location: repository.url } };
  },
});
