/** `GET /repositories/{id}` and `GET /organizations/{id}`: what now has that number, for its members. Clients follow these after a rename. */
import { loadPlace } from '../access/place.ts';
import { notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { organizationSchema, presentOrganization } from '../objects/organization.ts';
import { presentRepository, repositorySchema } from '../objects/repository.ts';
import { repositoryOf } from './repository-of.ts';

const none = { 404: { description: 'There is none, or the caller is not a member' } };
const asMember = { role: 'member', publicOnly: false } as const;

export const getRepositoryById = tokenOperation({
  id: 'get-by-id',
  summary: 'Get a repository by its id',
  docs: 'https://docs.github.com/rest/repos/repos#get-a-repository',
  answers: { 200: { description: 'The repository', schema: repositorySchema }, ...none },
  async run({ parts: { reads }, token, params, base }) {
    const { rows } = await reads.query<{ login: string; name: string }>({
      name: 'repository by id',
      text: 'SELECT a.login, r.name FROM repositories r JOIN accounts a ON a.id = r.account_id WHERE r.id = $1',
      values: [numberIn(params, 'repository_id')],
    });
    if (!rows[0]) throw notFound();
    const place = await loadPlace(reads, token, { login: rows[0].login, repository: rows[0].name, ...asMember });
    return { status: 200, body: presentRepository(place.account, repositoryOf(place), base, place.role) };
  },
});

export const getOrganizationById = tokenOperation({
  id: 'get-by-id',
  summary: 'Get an organization by its id',
  docs: 'https://docs.github.com/rest/orgs/orgs#get-an-organization',
  answers: { 200: { description: 'The organization', schema: organizationSchema }, ...none },
  async run({ parts: { reads }, token, params, base }) {
    const { rows } = await reads.query<{ login: string }>({
      name: 'account by id',
      text: 'SELECT login FROM accounts WHERE id = $1',
      values: [numberIn(params, 'organization_id')],
    });
    if (!rows[0]) throw notFound();
    const place = await loadPlace(reads, token, { login: rows[0].login, repository: undefined, ...asMember });
    return { status: 200, body: presentOrganization(place.account, base, place.role) };
  },
});

/** @throws ApiError 404 for anything but a valid number. */
function numberIn(params: Record<string, string>, name: string): number {
  const text = params[name] ?? '';
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > 0x7fffffff) throw notFound();
  return Number(text);
}
