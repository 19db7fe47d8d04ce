/** `GET /user` and `GET /users/{username}`: the caller; an organization, person or machine that shares an organization with the caller. */
import { loadPlace } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { identifierIn } from '../accounts/name.ts';
import { ApiError, notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { presentProfile, profileSchema, userOfAccount, userOfSubject } from '../objects/user.ts';
import type { Parts } from '../parts.ts';
import { sharedSince } from './shared.ts';

export const getAuthenticatedUser = tokenOperation({
  id: 'get-authenticated',
  summary: 'Get the caller',
  docs: 'https://docs.github.com/rest/users/users#get-the-authenticated-user',
  answers: { 200: { description: 'The person or machine that the token stands for', schema: profileSchema } },
  run: async ({ parts, token, base }) => ({
    status: 200,
    body: {
      ...presentProfile(userOfSubject(token.subject), await firstSeen(parts, token), base),
      site_admin: token.siteAdmin,
    },
  }),
});

export const getUser = tokenOperation({
  id: 'get-by-username',
  summary: 'Get an organization, a person or a machine',
  docs: 'https://docs.github.com/rest/users/users#get-a-user',
  answers: {
    200: { description: 'An organization, a person or a machine, as `type` says', schema: profileSchema },
    404: { description: 'There is none, or the caller shares no organization with them' },
  },
  async run({ parts, token, params, base }) {
    const login = identifierIn(params, 'username');
    const account = await findAccount(parts, token, login);
    if (account) return { status: 200, body: presentProfile(userOfAccount(account), account.createdAt, base) };
    const since =
      login === token.subject ? await firstSeen(parts, token) : await sharedSince(parts.reads, token, login);
    if (!since) throw notFound();
    return { status: 200, body: presentProfile(userOfSubject(login), since, base) };
  },
});

// Nothing is stored about people except their memberships.
const firstSeen = async ({ reads }: Parts, token: Token): Promise<Date> =>
  (await sharedSince(reads, token, token.subject)) ?? new Date(0);

async function findAccount({ reads }: Parts, token: Token, login: string) {
  try {
    const wanted = { login, repository: undefined, role: 'member', publicOnly: false } as const;
    return (await loadPlace(reads, token, wanted)).account;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
