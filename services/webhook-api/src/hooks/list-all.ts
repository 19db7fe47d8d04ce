/** `GET /orgs/{org}/webhooks`, `GET /accounts/{login}/webhooks`: every hook of an account, with those of its repositories. */
import { z } from 'zod';
import { allRepositoriesHooks, organizationHooks, sufficient } from '../access/scopes.ts';
import { loadAccount } from '../accounts/load.ts';
import { type Answer, ours, placeOperation, tokenOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import type { Parts } from '../parts.ts';
import { hookSchema, presentHealth, presentHook } from './present.ts';
import { type HooksWanted, listAccountRows, wholeRowsInParts } from './rows.ts';

/** No URL or name contains a NUL, and PostgreSQL does not accept one. */
const text = z
  .string()
  .transform((asked) => asked.replaceAll('\0', '\ufffd'))
  .optional();

const query = pageQuery.extend({
  q: text.meta({ type: 'string', description: 'Only those whose URL contains this, or whose id it is' }),
  repository: text.meta({ type: 'string', description: 'Only those of this repository, by its name' }),
  status: z
    .enum(['success', 'failure'])
    .optional()
    .meta({ description: 'Only those whose newest delivery succeeded, which takes a 2xx, or failed' }),
});

const repository = z
  .object({ id: z.int(), name: z.string(), full_name: z.string() })
  .nullable()
  .meta({ description: 'null: a hook of the organization itself' });

const listedSchema = z
  .union([hookSchema('repos').extend({ repository }), hookSchema('orgs').extend({ repository })])
  .meta({ id: 'AccountHook', ...ours });

const answers = { 200: { description: 'A page of them, oldest first', schema: z.array(listedSchema) } };

export const listOrganizationHooks = placeOperation({
  id: 'list-all-webhooks',
  summary: 'List the webhooks of an organization and of its repositories',
  query,
  answers,
  async run({ parts, place, token, query, base, url }) {
    // As far as the list's scopes allow: an OAuth app sees only its own hooks of the organization.
    const wanted = {
      ofRepositories: sufficient(token.scopes, allRepositoriesHooks),
      ofOrganization: sufficient(token.scopes, organizationHooks) ? { app: token.app } : ('none' as const),
    };
    return list(parts, place.account, wanted, { query, base, url });
  },
});

export const listAccountHooks = tokenOperation({
  id: 'list-account-webhooks',
  summary: 'List the webhooks of an account and of its repositories',
  query,
  answers,
  async run({ parts, params, query, base, url }) {
    const account = await loadAccount(parts.reads, params.login);
    return list(parts, account, { ofRepositories: true, ofOrganization: 'all' }, { query, base, url });
  },
});

type Asked = { query: z.infer<typeof query>; base: string; url: string };

async function list(
  parts: Parts,
  account: { id: number; login: string },
  visible: Pick<HooksWanted, 'ofRepositories' | 'ofOrganization'>,
  { query, base, url }: Asked,
): Promise<Answer> {
  const page = { limit: query.per_page, offset: offsetOf(query) };
  const { q: text, repository, status } = query;
  const { rows, total } = await listAccountRows(parts.pool, account.id, { ...visible, text, repository, status }, page);
  const body: Record<string, unknown>[] = [];
  for await (const whole of wholeRowsInParts(parts.pool, rows))
    for (const row of whole) {
      const place = { account, repository: row.repository };
      const shown = row.repository && { ...row.repository, full_name: `${account.login}/${row.repository.name}` };
      body.push({ ...presentHook(row, place, base, parts.seal), ...presentHealth(row), repository: shown });
    }
  return { status: 200, body, headers: pageLinks(url, query, total, { q: text, repository, status }) };
}
