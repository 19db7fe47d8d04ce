/** `POST /admin/organizations`: an account with its first admins: the machine that creates it, and those it names. */
import { inTransaction } from '@gatepost/runtime/transaction';
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { organizationSchema, presentOrganization } from '../objects/organization.ts';
import { identifierSchema, loginSchema } from './name.ts';

const body = z.object({
  login: loginSchema,
  admin: identifierSchema
    .optional()
    .meta({ description: 'The `sub` of another admin, besides the machine that creates it' }),
});

export const createOrganization = tokenOperation({
  id: 'create-org',
  summary: 'Create an organization',
  body,
  answers: { 201: { description: 'The organization', schema: organizationSchema } },
  async run({ parts: { pool }, token, body: { login, admin = token.subject }, base, checkTime }) {
    const account = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ id: number; created_at: Date }>(
        'INSERT INTO accounts (login) VALUES ($1) ON CONFLICT (lower(login)) DO NOTHING RETURNING id, created_at',
        [login],
      );
      const [made] = rows;
      if (!made) throw validationFailed({ resource: 'Organization', code: 'already_exists', field: 'login' });
      const admins = [...new Set([token.subject, admin])];
      await client.query("INSERT INTO memberships SELECT $1, unnest($2::text[]), 'admin'", [made.id, admins]);
      checkTime(); // as late as possible: a commit cannot be taken back
      return { id: made.id, login, createdAt: made.created_at };
    });
    const organization = presentOrganization(account, base);
    return { status: 201, body: organization, headers: { Location: organization.url } };
  },
});
