/** oidc-provider's clients are our client records. It writes them only for dynamic registration (`oidc/register`). */
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { clientMetadata } from '../clients/metadata.ts';
import { registeredClient } from '../clients/registration.ts';
import type { ClientStore } from '../clients/store.ts';
import { isStorable } from '../http/well-formed.ts';

export function makeClientAdapter(clients: ClientStore): Adapter {
  const never = (operation: string) => async () => {
    throw new Error(`clients are never ${operation}`);
  };
  // A record that is cached keeps its metadata, by which the client made of them is known (library/seam.ts); the library only reads them.
  const known = new WeakMap<object, AdapterPayload>();
  return {
    async find(id) {
      // Whatever a header or an assertion may hold: nobody has such an id.
      const client = isStorable(id) ? await clients.find(id) : undefined;
      if (!client) return undefined;
      let metadata = known.get(client);
      if (!metadata) {
        metadata = { ...clientMetadata(client) };
        known.set(client, metadata);
      }
      return metadata;
    },
    async upsert(_id, metadata) {
      await clients.create(registeredClient(metadata as unknown as ClientMetadata));
    },
    destroy: (id) => clients.remove(id),
    consume: never('consumed'),
    revokeByGrantId: never('revoked with a grant'),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  };
}
