/** Serves our client records as oidc-provider’s clients. The library writes clients only for dynamic registration (`oidc/register`). */
import Provider, { type Adapter, type AdapterPayload, type ClientMetadata } from 'oidc-provider';
import { clientMetadata } from '../clients/metadata.ts';
import { unusedUntil } from '../clients/open-registration.ts';
import { registeredClient } from '../clients/registration.ts';
import type { ClientStore, RegisteredClient } from '../clients/store.ts';
import { isStorable } from '../http/well-formed.ts';

/** A client without a database row, and whether it is currently available. */
export type BuiltInClient = { client: RegisteredClient; isOpen(): Promise<boolean> };

/** @param builtIn take precedence over clients in the store */
export function makeClientAdapter(clients: ClientStore, builtIn: readonly BuiltInClient[] = []): Adapter {
  const never = (operation: string) => async () => {
    throw new Error(`clients are never ${operation}`);
  };
  // A cached record keeps its metadata object, which identifies the client compiled from it (library/seam.ts); the library only
  // reads it.
  const known = new WeakMap<object, { metadata: AdapterPayload; until: number }>();
  return {
    async find(id) {
      // A header or an assertion may hold anything; an id that cannot be stored matches no client.
      const ours = builtIn.find(({ client }) => client.clientId === id);
      if (ours && !(await ours.isOpen())) return undefined;
      const client = ours?.client ?? (isStorable(id) ? await clients.find(id) : undefined);
      if (!client) return undefined;
      const made = known.get(client);
      if (made && made.until > Date.now()) return made.metadata;
      const metadata = { ...clientMetadata(client) };
      known.set(client, { metadata, until: nextExpiry(client) });
      return metadata;
    },
    async upsert(_id, metadata) {
      const isVouchedFor = Provider.ctx?.oidc.entities.InitialAccessToken !== undefined;
      const client = registeredClient(metadata as unknown as ClientMetadata); // the library has checked it
      await clients.create({ ...client, isVouchedFor, unusedUntil: isVouchedFor ? null : unusedUntil() });
    },
    destroy: (id) => clients.remove(id),
    consume: never('consumed'),
    revokeByGrantId: never('revoked with a grant'),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  };
}

/** When the first of its keys expires. */
function nextExpiry({ credentials }: RegisteredClient): number {
  const ends = credentials.map(({ expiresAt }) => expiresAt?.getTime() ?? Infinity);
  return Math.min(Infinity, ...ends.filter((end) => end > Date.now()));
}
