/** `POST /admin/organizations`: an account, with its first admin. */
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { organizationSchema, presentOrganization } from '../objects/organization.ts';
import { identifierSchema, loginSchema } from './name.ts';

const body = z.object({
  login: loginSchema,
  admin: identifierSchema.meta({ description: 'The `sub` of its first admin' }),
});

export const createOrganization = tokenOperation({
  id: 'create-org',
  summary: 'Create an organization',
  body,
  answers: { 201: { description: 'The organization', schema: organizationSchema } },
  async run({ parts: { database }, body: { login, admin }, base }) {
    const account = await database.$transaction(async (transaction) => {
      // The unique index is on lower(login), which Prisma cannot name.
      const [made] = await transaction.$queryRaw<{ id: number; created_at: Date }[]>`
        INSERT INTO accounts (login) VALUES (${login}) ON CONFLICT (lower(login)) DO NOTHING RETURNING id, created_at`;
      if (!made) throw validationFailed({ resource: 'Organization', code: 'already_exists', field: 'login' });
      await transaction.membership.create({ data: { accountId: made.id, subject: admin, role: 'admin' } });
      return { id: made.id, login, createdAt: made.created_at };
    });
    const organization = presentOrganization(account, base);
    return { status: 201, body: organization, headers: { Location: organization.url } };
  },
});
