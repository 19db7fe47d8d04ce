/** `grants`: the scopes that people allowed an application. Deleting a consent immediately ends what the application has through it. */
import { z } from 'zod';
import { endAccess } from '../accounts/end-access.ts';
import type { Database } from '../database.ts';
import type { ConsentModel } from '../generated/models.ts';
import { audienceOf, resourceOf } from '../resources/audience.ts';
import { gone, operation } from './operation.ts';
import { list, pageQuery, type Source } from './paging.ts';
import { badQuery } from './problem.ts';

export const listGrants = operation({
  query: z.strictObject({
    ...pageQuery,
    user_id: z.string().optional(),
    client_id: z.string().optional(),
    audience: z.string().optional(),
  }),
  run: ({ parts, query }) =>
    list(
      'grants',
      query,
      source(parts.db, {
        ...(query.user_id !== undefined && { userId: query.user_id }),
        ...(query.client_id !== undefined && { clientId: query.client_id }),
        ...(query.audience !== undefined && { resource: query.audience === '' ? '' : resourceOf(query.audience) }),
      }),
      present,
    ),
});

export const deleteGrant = operation({
  async run({ parts, params }) {
    const key = readId(params.id ?? '');
    if (key !== undefined) {
      await parts.db.consent.deleteMany({ where: key });
      await endAccess(parts.db, key.userId, key.clientId);
    }
    return gone;
  },
});

export const deleteGrantsOfUser = operation({
  query: z.strictObject({ user_id: z.string().optional() }),
  async run({ parts, query }) {
    if (!query.user_id) throw badQuery("Missing required property: 'user_id'");
    await parts.db.consent.deleteMany({ where: { userId: query.user_id } });
    await endAccess(parts.db, query.user_id);
    return gone;
  },
});

type Key = { userId: string; clientId: string; resource: string };

function source(db: Database, where: Partial<Key>): Source<ConsentModel> {
  return {
    total: () => db.consent.count({ where }),
    items: ({ skip, take }) =>
      db.consent.findMany({
        where,
        orderBy: [{ userId: 'asc' }, { clientId: 'asc' }, { resource: 'asc' }],
        skip,
        take,
      }),
    key: makeId,
  };
}

function present(consent: ConsentModel): object {
  return {
    id: makeId(consent),
    clientID: consent.clientId,
    user_id: consent.userId,
    ...(consent.resource !== '' && { audience: audienceOf(consent.resource) }),
    scope: consent.scopes,
  };
}

/** A consent has no id of its own: it is identified by person, client and API. */
function makeId({ userId, clientId, resource }: Key): string {
  return Buffer.from(JSON.stringify([userId, clientId, resource])).toString('base64url');
}

function readId(id: string): Key | undefined {
  try {
    const [userId, clientId, resource] = z
      .tuple([z.string(), z.string(), z.string()])
      .parse(JSON.parse(Buffer.from(id, 'base64url').toString()));
    return { userId, clientId, resource };
  } catch {
    return undefined; // not one of our ids: there is nothing to revoke
  }
}
