/** Stores ids that are secrets only as hashes, so that a copy of the store gives no access. */
import { hash } from 'node:crypto';
import type { Adapter } from 'oidc-provider';

export function hashIds(adapter: Adapter): Adapter {
  return {
    // The payload repeats the id as `jti`; it is left out, and restored when the caller presents the id.
    upsert: (id, { jti: _, ...payload }, expiresIn) => adapter.upsert(hashId(id), payload, expiresIn),
    async find(id) {
      const payload = await adapter.find(hashId(id));
      return payload ? { ...payload, jti: id } : undefined;
    },
    consume: (id) => adapter.consume(hashId(id)),
    destroy: (id) => adapter.destroy(hashId(id)),
    revokeByGrantId: (grantId) => adapter.revokeByGrantId(grantId),
    findByUid: (uid) => adapter.findByUid(uid),
    findByUserCode: (userCode) => adapter.findByUserCode(userCode),
  };
}

export function hashId(id: string): string {
  return hash('sha256', id, 'base64url');
}
