/** Which store keeps which of oidc-provider’s models. */
import { tracing } from '@gatepost/runtime/tracing';
import type { Redis } from 'ioredis';
import type { Adapter, AdapterFactory } from 'oidc-provider';
import type { ClientStore } from '../clients/store.ts';
import type { Pool } from '../database.ts';
import { type BuiltInClient, makeClientAdapter } from './clients.ts';
import { hashIds } from './hashed.ts';
import type { KnownGrants } from './known-grants.ts';
import { ruleOf } from './models.ts';
import { makePostgresAdapter } from './postgres.ts';
import { redisAdapters } from './redis.ts';
import { carriers, traceThrough } from './traced.ts';

export function makeAdapterFactory(stores: {
  pool: Pool;
  redis: Redis;
  redisPrefix: string;
  clients: ClientStore;
  builtInClients: readonly BuiltInClient[];
  knownGrants: KnownGrants;
}): AdapterFactory {
  const inRedis = redisAdapters(stores.redis, stores.redisPrefix);
  return (model) => {
    const rule = ruleOf(model);
    const adapter = open(model, rule.store, rule.grantable);
    const named = rule.hashed ? hashIds(adapter) : adapter;
    return tracing && carriers.has(model) ? traceThrough(named, tracing) : named;
  };

  function open(model: string, store: 'clients' | 'postgres' | 'redis', grantable: boolean): Adapter {
    switch (store) {
      case 'clients':
        return makeClientAdapter(stores.clients, stores.builtInClients);
      case 'postgres':
        return makePostgresAdapter(stores.pool, model, stores.knownGrants);
      case 'redis':
        return inRedis(model, grantable);
    }
  }
}
