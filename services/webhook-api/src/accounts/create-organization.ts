/** `POST /admin/organizations`: an account, with its first admins: the machine that makes it, and whom it names. */
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { organizationSchema, presentOrganization } from '../objects/organization.ts';
import { identifierSchema, loginSchema } from './name.ts';

const body = z.object({
  login: loginSchema,
  admin: identifierSchema.optional().meta({ description: 'The `sub` of an admin beside the machine that creates it' }),
});

export const createOrganization = tokenOperation({
  id: 'create-org',
  summary: 'Create an organization',
  body,
  answers: { 201: { description: 'The organization', schema: organizationSchema } },
  async run({ parts: { database }, token, body: { login, admin = token.subject }, base }) {
    const account = await database.$transaction(async (transaction) => {
      // The unique index is on lower(login), which Prisma cannot name.
      const [made] = await transaction.$queryRaw<{ id: number; created_at: Date }[]>`
        INSERT INTO accounts (login) VALUES (${login}) ON CONFLICT (lower(login)) DO NOTHING RETURNING id, created_at`;
      if (!made) throw validationFailed({ resource: 'Organization', code: 'already_exists', field: 'login' });
      const admins = [...new Set([token.subject, admin])];
      await transaction.membership.createMany({
        data: admins.map((subject) => ({ accountId: made.id, subject, role: 'admin' })),
      });
      return { id: made.id, login, createdAt: made.created_at };
    });
    const organization = presentOrganization(account, base);
    return { status: 201, body: organization, headers: { Location: organization.url } };
  },
});
