/** An administrator's changes to the mails (`api/v2/email-templates`). */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database, Prisma } from '../database.ts';
import type { EmailTemplateModel } from '../generated/models.ts';

export type EmailTemplateStore = {
  /** Cached; undefined for a mail in our own words. */
  find(name: string): Promise<EmailTemplateModel | undefined>;
  /** Undefined when one of that name exists. */
  create(template: Prisma.EmailTemplateCreateInput): Promise<EmailTemplateModel | undefined>;
  /** Undefined when none of that name exists. */
  update(name: string, change: Prisma.EmailTemplateUpdateInput): Promise<EmailTemplateModel | undefined>;
};

export function makeEmailTemplateStore(db: Database, changes: Changes): EmailTemplateStore {
  const cache = makeCache<EmailTemplateModel[]>({
    changes,
    tables: ['email_templates'],
    load: () => db.emailTemplate.findMany(),
  });
  const written = <T>(value: T): T => {
    cache.clear();
    return value;
  };
  return {
    find: async (name) => (await cache.get('all')).find((template) => template.name === name),
    async create(data) {
      const made = await db.emailTemplate.createManyAndReturn({ data: [data], skipDuplicates: true });
      return written(made[0]);
    },
    update: async (name, data) => written((await db.emailTemplate.updateManyAndReturn({ where: { name }, data }))[0]),
  };
}
