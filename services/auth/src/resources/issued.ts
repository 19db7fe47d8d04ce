/**
 * What was issued for an API ends with it, and what people allowed of a scope ends with the scope: a later API or scope of the same name
 * is not the one that they were asked about.
 */
import type { Prisma } from '../database.ts';
import { resourceOf } from './audience.ts';

export async function endIssuedFor(transaction: Prisma.TransactionClient, identifier: string): Promise<void> {
  const resource = resourceOf(identifier);
  await transaction.consent.deleteMany({ where: { resource } });
  await transaction.$executeRaw`
    DELETE FROM artefacts WHERE model = 'RefreshToken' AND payload -> 'resource' ? ${resource}`;
  await transaction.$executeRaw`
    UPDATE artefacts SET payload = payload #- ARRAY['resources', ${resource}]
     WHERE model = 'Grant' AND payload -> 'resources' ? ${resource}`;
}

export async function endScopes(
  transaction: Prisma.TransactionClient,
  identifier: string,
  lost: string[],
): Promise<void> {
  const resource = resourceOf(identifier);
  await transaction.$executeRaw`
    UPDATE consents SET scopes = ARRAY(SELECT unnest(scopes) EXCEPT SELECT unnest(${lost}::text[]) ORDER BY 1)
     WHERE resource = ${resource} AND scopes && ${lost}::text[]`;
  await transaction.$executeRaw`
    UPDATE artefacts SET payload = jsonb_set(payload, ARRAY['resources', ${resource}], to_jsonb(array_to_string(ARRAY(
        SELECT word FROM unnest(string_to_array(payload -> 'resources' ->> ${resource}, ' ')) WITH ORDINALITY AS granted (word, place)
         WHERE word <> ALL (${lost}::text[]) ORDER BY place), ' ')))
     WHERE model = 'Grant' AND string_to_array(payload -> 'resources' ->> ${resource}, ' ') && ${lost}::text[]`;
}
