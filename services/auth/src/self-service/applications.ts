/** Applications that may act for a person: those they consented to, and the tenant's own that hold a grant. */
import type { Request } from 'express';
import { endAccess } from '../accounts/end-access.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { AccountItem } from '../pages/account.ts';
import { audienceOf } from '../resources/audience.ts';
import { notFound, type Visit } from './visit.ts';

const path = '/account/applications';
const shownMax = 100;

type Connected = { client_id: string; since: Date; scopes: string[] };

export async function showApplications(visit: Visit): Promise<void> {
  const items = await Promise.all((await connectedTo(visit)).map((connected) => itemOf(visit, connected)));
  const groups = [{ items, empty: 'applicationsEmpty' as const }];
  return visit.show('account-list', { path, list: 'applications', groups }, await visit.recall(path));
}

export async function disconnect(visit: Visit, request: Request): Promise<void> {
  const { parts, account } = visit;
  const { id = '' } = fieldsOf(request);
  if (!(await connectedTo(visit)).some(({ client_id }) => client_id === id)) throw notFound();
  await parts.db.consent.deleteMany({ where: { userId: account.userId, clientId: id } });
  await endAccess(parts.db, account.userId, id);
  visit.note('sapi', { operation: 'DELETE account/applications', target: id });
  return visit.turnTo(path, { notice: 'removed' });
}

export async function connectedTo({ parts, account }: Visit): Promise<Connected[]> {
  const { rows } = await parts.pool.query<Connected>({
    name: 'applications of',
    text: `SELECT client_id, min(since) AS since,
             array(SELECT DISTINCT resource || ' ' || scope FROM consents, unnest(scopes) scope
                   WHERE consents.user_id = $1 AND consents.client_id = connected.client_id ORDER BY 1) AS scopes
           FROM (SELECT client_id, to_timestamp((payload ->> 'iat')::bigint) AS since FROM artefacts
                  WHERE account_id = $1 AND model = 'Grant' AND expires_at > now() AND client_id IS NOT NULL
                 UNION ALL SELECT client_id, updated_at FROM consents WHERE user_id = $1) connected
           WHERE client_id <> $2 GROUP BY client_id ORDER BY client_id LIMIT $3`,
    values: [account.userId, accountClientId, shownMax],
  });
  return rows;
}

async function itemOf({ parts }: Visit, { client_id: id, since, scopes }: Connected): Promise<AccountItem> {
  const client = await parts.clients.find(id);
  const byApi = Map.groupBy(scopes, (text) => text.slice(0, text.indexOf(' ')));
  const allowed = [...byApi].map(([resource, all]) => {
    const names = all.map((text) => text.slice(text.indexOf(' ') + 1)).join(', ');
    return { text: resource === '' ? names : `${audienceOf(resource)}: ${names}` };
  });
  return {
    id,
    title: client?.name || id,
    notes: [...allowed, { key: 'since' as const, at: since }],
    actions: [{ action: 'disconnect', key: 'disconnect' }],
  };
}
