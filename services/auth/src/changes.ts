/** Listens for changes to tables that administrators write, made by any process. */
import type { Log } from '@gatepost/runtime/log';
import { listen } from '@gatepost/runtime/notifications';
import type { Pool } from './database.ts';

/** Tables whose rows are cached. A trigger announces each change; for the last two, only changes that end a token or show in one. */
export type CachedTable =
  | 'clients'
  | 'client_grants'
  | 'client_credentials'
  | 'resource_servers'
  | 'connections'
  | 'settings'
  | 'page_templates'
  | 'custom_texts'
  | 'email_templates'
  | 'signing_keys'
  | 'role_permissions'
  | 'user_permissions'
  | 'organizations'
  | 'organization_connections'
  | 'action_versions'
  | 'action_bindings'
  | 'accounts'
  | 'artefacts';

export type Changes = AsyncDisposable & {
  /** Calls `forget` after each commit that changed one of the tables, and whenever a change may have been missed. */
  subscribe(tables: CachedTable[], forget: () => void): void;
  /** False while changes may be missed: nothing may be cached then. */
  isConnected(): boolean;
};

/** @param directUrl the server itself, for listening; @param pool where changes are written */
export async function openChanges(directUrl: string, pool: Pool, log: Log): Promise<Changes> {
  const subscriptions: { tables: Set<string>; forget: () => void }[] = [];
  const notifications = await listen({
    databaseUrl: directUrl,
    pool,
    log,
    name: 'gatepost-auth-changes',
    channel: 'auth_changed',
    onNotification: (table) => {
      for (const { tables, forget } of subscriptions) if (tables.has(table)) forget();
    },
    onGap: () => {
      for (const { forget } of subscriptions) forget();
    },
  });
  return {
    subscribe: (tables, forget) => void subscriptions.push({ tables: new Set(tables), forget }),
    isConnected: notifications.isConnected,
    [Symbol.asyncDispose]: () => notifications[Symbol.asyncDispose](),
  };
}
