/** Listens for changed accounts (hooks, repositories, limits, approvals) in PostgreSQL's notifications. */
import type { Log } from '@gatepost/runtime/log';
import { listen, type Notifications } from '@gatepost/runtime/notifications';
import type { Queryable } from './pool.ts';

export type Changes = Notifications;

/** Calls `onChange(accountId)` after each commit that touched the account; `onGap` as in `listen`. */
export function listenForChanges(options: {
  databaseUrl: string;
  pool: Queryable;
  name: string;
  onChange: (accountId: number) => void;
  onGap: () => void;
  log: Log;
}): Promise<Changes> {
  const { onChange, ...rest } = options;
  return listen({
    ...rest,
    channel: 'webhooks_changed',
    onNotification: (payload) => onChange(Number(payload)),
  });
}
