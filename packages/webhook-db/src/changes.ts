/** Listens for changed accounts (hooks, repositories, limits, approvals) in PostgreSQL's notifications. */
import { listen, type Notifications } from '@gatepost/runtime/notifications';

export type Changes = Notifications;

/** Calls `onChange(accountId)` after each commit that touched the account; `onGap` as in `listen`. */
export function listenForChanges(options: {
  databaseUrl: string;
  name: string;
  onChange: (accountId: number) => void;
  onGap: () => void;
}): Promise<Changes> {
  const { databaseUrl, name, onChange, onGap } = options;
  return listen({
    databaseUrl,
    name,
    channel: 'webhooks_changed',
    onNotification: (payload) => onChange(Number(payload)),
    onGap,
  });
}
