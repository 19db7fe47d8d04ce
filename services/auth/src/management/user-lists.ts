/** What a person has none of here, where Auth0's tools look first: empty lists, of people who exist. */
import { z } from '@gatepost/runtime/env';
import { gone, type Operation, ok, operation } from './operation.ts';
import { checkpointQuery, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import { loadUser } from './users.ts';

/** @param name of the list where it is not bare */
const emptyList = (name: string): Operation =>
  operation({
    query: z.strictObject({ ...pageQuery, ...checkpointQuery, ...fieldsQuery }),
    async run({ parts, params, query }) {
      await loadUser(parts, params.id);
      return list(name, query, ofArray<object>([], String), (item) => item);
    },
  });

export const listRoles = emptyList('roles');
export const listPermissions = emptyList('permissions');
export const listOrganizations = emptyList('organizations');
export const listAuthenticationMethods = emptyList('authenticators');

export const listEnrollments = operation({
  async run({ parts, params }) {
    await loadUser(parts, params.id);
    return ok([]);
  },
});

/** There are none to delete. */
export const deleteAuthenticators = operation({
  async run({ parts, params }) {
    await loadUser(parts, params.id);
    return gone;
  },
});
