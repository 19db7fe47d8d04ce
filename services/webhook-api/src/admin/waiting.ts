/** `/accounts/{login}/waiting`: an account's waiting deliveries. */
import { z } from 'zod';
import { loadAccount } from '../accounts/load.ts';
import { tokenOperation } from '../http/operation.ts';
import { linkHeader, perPage } from '../http/page.ts';
import { presentWaiting, waitingSchema } from '../waiting/present.ts';
import { findPage } from '../waiting/rows.ts';

const query = z.object({
  per_page: perPage,
  cursor: z
    .string()
    .regex(/^\d{1,16}$/)
    .optional()
    .meta({ description: 'Where a page begins: the cursor of the `Link` header' }),
});

export const listWaiting = tokenOperation({
  id: 'list-waiting',
  summary: "List an account's waiting deliveries",
  query,
  answers: { 200: { description: 'A page of them, in the order of their ids', schema: z.array(waitingSchema) } },
  async run({ parts: { pool }, params, query: { per_page: most, cursor }, url }) {
    const { id } = await loadAccount(pool, params.login);
    const rows = await findPage(pool, id, cursor ?? '0', most);
    const next = rows[most];
    const links: [string, string][] = next ? [['next', `${url}?per_page=${most}&cursor=${next.delivery_id}`]] : [];
    return { status: 200, body: rows.slice(0, most).map(presentWaiting), headers: linkHeader(links) };
  },
});
