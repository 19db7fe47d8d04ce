/** `…/stats`: deliveries, failures and speed of a hook, an account, or all; and the current state (docs/reference/webhooks-api.md#statistics). */
import { loadAccount } from '../accounts/load.ts';
import { loadHook } from '../hooks/rows.ts';
import { type Answer, placeOperation, tokenOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import type { Parts } from '../parts.ts';
import { presentStats, type Standing, statsSchema } from './present.ts';
import { type Range, rangeQuery, readRange } from './range.ts';
import { everything, loadCounted, loadCounts, type Subject } from './rows.ts';
import { accountStanding, hookStanding, standing } from './standing.ts';

const answers = {
  200: { description: 'Counts for each minute, hour or day, and the current state', schema: statsSchema },
  422: { description: 'The times are invalid, or there are too many points' },
};

export const getHookStats = placeOperation({
  id: 'get-webhook-statistics',
  summary: 'Get statistics of a webhook',
  query: rangeQuery,
  answers,
  async run({ parts, place, token, params, query }) {
    const hook = await loadHook(parts.pool, place, token, parseHookId(params));
    const { id: accountId } = place.account;
    const subject = { accountId, hookId: hook.id };
    return answer(parts, subject, readRange(query), hookStanding(parts, accountId, hook.id));
  },
});

export const getOrganizationStats = placeOperation({
  id: 'get-org-statistics',
  summary: "Get statistics of an organization's deliveries",
  query: rangeQuery,
  answers,
  run: ({ parts, place, query }) => ofAccount(parts, place.account.id, readRange(query)),
});

export const getAccountStats = tokenOperation({
  id: 'get-account-statistics',
  summary: "Get statistics of an account's deliveries",
  query: rangeQuery,
  answers,
  async run({ parts, params, query }) {
    const { id } = await loadAccount(parts.pool, params.login);
    return ofAccount(parts, id, readRange(query));
  },
});

export const getAllStats = tokenOperation({
  id: 'get-statistics',
  summary: 'Get statistics of all deliveries',
  query: rangeQuery,
  answers,
  run: ({ parts, query }) => answer(parts, everything, readRange(query), standing(parts)),
});

const ofAccount = (parts: Parts, accountId: number, range: Range) =>
  answer(parts, { accountId, hookId: 0 }, range, accountStanding(parts, accountId));

async function answer(parts: Parts, subject: Subject, range: Range, now: Promise<Standing>): Promise<Answer> {
  const [stands, counts, counted] = await Promise.all([
    now,
    loadCounts(parts.pool, subject, range),
    subject.hookId === 0 ? loadCounted(parts.pool, range) : undefined,
  ]);
  return { status: 200, body: presentStats(range, counts, counted, stands) };
}
