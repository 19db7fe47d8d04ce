/** `GET /orgs/{org}`. */
import { placeOperation } from '../http/operation.ts';
import { organizationSchema, presentOrganization } from '../objects/organization.ts';

export const getOrganization = placeOperation({
  id: 'get',
  summary: 'Get an organization',
  docs: 'https://docs.github.com/rest/orgs/orgs#get-an-organization',
  answers: { 200: { description: 'The organization', schema: organizationSchema } },
  run: ({ place, base }) => ({ status: 200, body: presentOrganization(place.account, base, place.role) }),
});
