/** `GET /repos/{owner}/{repo}`. */
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';

export const getRepository = placeOperation({
  id: 'get',
  summary: 'Get a repository',
  docs: 'https://docs.github.com/rest/repos/repos#get-a-repository',
  answers: { 200: { description: 'The repository', schema: repositorySchema } },
  run({ place, base }) {
    if (!place.repository) throw notFound();
    return { status: 200, body: presentRepository(place.account, place.repository, base, place.role) };
  },
});
