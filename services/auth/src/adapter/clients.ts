/** oidc-provider's clients are our client records. It writes them only for dynamic registration (`oidc/register`). */
import { createHash } from 'node:crypto';
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { clientMetadata } from '../clients/metadata.ts';
import { registeredClient } from '../clients/registration.ts';
import type { ClientStore } from '../clients/store.ts';
import { isStorable } from '../http/well-formed.ts';
import { asking } from '../stores-away.ts';

export function makeClientAdapter(clients: ClientStore): Adapter {
  const never = (operation: string) => async () => {
    throw new Error(`clients are never ${operation}`);
  };
  // A record that is cached keeps its metadata; the library only reads it.
  const known = new WeakMap<object, AdapterPayload>();
  return {
    async find(id) {
      // Whatever a header or an assertion may hold: nobody has such an id.
      const client = isStorable(id) ? await asking(clients.find(id)) : undefined;
      if (!client) return undefined;
      let metadata = known.get(client);
      if (!metadata) {
        metadata = digestedOnce({ ...clientMetadata(client) });
        known.set(client, metadata);
      }
      return metadata;
    },
    async upsert(_id, metadata) {
      await asking(clients.create(registeredClient(metadata as unknown as ClientMetadata)));
    },
    destroy: (id) => asking(clients.remove(id)),
    consume: never('consumed'),
    revokeByGrantId: never('revoked with a grant'),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  };
}

/**
 * The library looks for the client it has made of these metadata by the hash of their JSON, with each request. Their JSON is
 * made and hashed once instead; equal metadata still find the same client.
 */
function digestedOnce(metadata: AdapterPayload): AdapterPayload {
  const digest = createHash('sha256').update(JSON.stringify(metadata)).digest('base64url');
  return Object.defineProperty(metadata, 'toJSON', { value: () => digest });
}
