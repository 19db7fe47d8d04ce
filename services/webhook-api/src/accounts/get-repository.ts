/** `GET /repos/{owner}/{repo}`. */
import { placeOperation } from '../http/operation.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';
import { repositoryOf } from './repository-of.ts';

export const getRepository = placeOperation({
  id: 'get',
  summary: 'Get a repository',
  docs: 'https://docs.github.com/rest/repos/repos#get-a-repository',
  answers: { 200: { description: 'The repository', schema: repositorySchema } },
  run: ({ place, base }) => ({
    status: 200,
    body: presentRepository(place.account, repositoryOf(place), base, place.role),
  }),
});
