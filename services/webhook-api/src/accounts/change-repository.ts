/** `PATCH` and `DELETE /repos/{owner}/{repo}`. */
import { changeInPlace } from '../hooks/lock.ts';
import { validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';
import { repositoryNameSchema } from './name.ts';
import { repositoryOf } from './repository-of.ts';
import { deleteRow, nameTaken, updateRow } from './repository-rows.ts';
import { readSettings, settingsInput } from './repository-settings.ts';

export const updateRepository = placeOperation({
  id: 'update',
  summary: 'Update a repository',
  docs: 'https://docs.github.com/rest/repos/repos#update-a-repository',
  body: settingsInput.extend({ name: repositoryNameSchema.optional() }).meta({ id: 'RepositoryUpdate' }),
  answers: { 200: { description: 'The repository', schema: repositorySchema } },
  async run({ parts: { pool }, place, body: { name = null, ...input }, base }) {
    const changed = await updateRow(pool, repositoryOf(place).id, { name, ...readSettings(input) });
    if (!changed) throw validationFailed(nameTaken);
    return { status: 200, body: presentRepository(place.account, changed, base, place.role) };
  },
});

export const deleteRepository = placeOperation({
  id: 'delete',
  summary: 'Delete a repository and its hooks',
  docs: 'https://docs.github.com/rest/repos/repos#delete-a-repository',
  answers: { 204: { description: 'Deleted' } },
  async run({ parts, place, checkTime }) {
    const { id } = repositoryOf(place);
    await changeInPlace({ parts, place, checkTime }, (db) => deleteRow(db, id));
    return { status: 204 };
  },
});
