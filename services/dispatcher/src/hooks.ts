/** The hooks of an account, kept in memory until PostgreSQL says that the account has changed. */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import { type Changes, listenForChanges } from '@gatepost/webhook-db/changes';
import type { Pool } from '@gatepost/webhook-db/pool';
import { hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { makeKeys, type SigningKeys } from './sign.ts';

export type Hook = {
  id: number;
  accountId: number;
  /** null: a hook of the organization. */
  repositoryId: number | null;
  /** Active, and not disabled by an OAuth app access restriction. */
  deliverable: boolean;
  events: ReadonlySet<string>;
  /** As the user gave it. */
  url: string;
  /** The same, parsed once; its credentials, if any, are sent as basic authentication. */
  target: URL;
  contentType: 'json' | 'form';
  insecureSsl: boolean;
  keys: SigningKeys | null;
  retry: boolean;
  /** Custom request headers; their values are secret. */
  headers: Readonly<Record<string, string>>;
};

export type Account = {
  id: number;
  /** Counts the account's changes. */
  version: number;
  /** Ids by name in lower case. */
  repositories: ReadonlyMap<string, number>;
  hooks: ReadonlyMap<number, Hook>;
  /** null where the service's defaults hold. */
  throttle: { rate: number | null; burst: number | null };
  /** When this was asked of the database, ms since 1970. */
  loadedAt: number;
};

export type Hooks = AsyncDisposable & {
  /**
   * The accounts of these logins (in lower case) as they are now, in one look at the database: an event that was published after a hook
   * was created finds it, however late the notification is. Rejects while the database is away.
   */
  ofLogins(logins: Iterable<string>): Promise<Map<string, Account>>;
  /** The account as it was at most a moment ago. */
  ofId(id: number): Promise<Account | undefined>;
  /** The same, asked of the database anew. */
  reload(id: number): Promise<Account | undefined>;
};

const accountsMax = 20_000;

/** `onChange` hears of each changed account, after it has been forgotten here. */
export async function openHooks(options: {
  pool: Pool;
  databaseUrl: string;
  seal: Seal;
  log: Log;
  onChange?: (accountId: number, hooks: Hooks) => void;
}): Promise<Hooks> {
  // Promises are kept, not values, so that a hundred jobs of one account ask once.
  const accounts = new Map<number, Promise<Account | undefined>>();
  let changes: Changes | undefined;

  const ofId = (id: number) => {
    const known = accounts.get(id);
    if (known) return known;
    if (accounts.size >= accountsMax) accounts.clear();
    const loading = loadAccount(options, id);
    accounts.set(id, loading);
    const forget = () => accounts.get(id) === loading && accounts.delete(id);
    loading.then(() => changes?.isConnected() || forget(), forget);
    return loading;
  };
  const reload = (id: number) => {
    accounts.delete(id);
    return ofId(id);
  };
  const current = async ({ id, version }: VersionRow) => {
    const known = await ofId(id);
    if (known?.version === Number(version)) return known;
    return reload(id);
  };
  const hooks: Hooks = {
    ofId,
    reload,
    async ofLogins(logins) {
      const { rows } = await options.pool.query<VersionRow>({
        name: 'accounts by login',
        text: `SELECT lower(a.login) AS login, a.id, v.version FROM accounts a JOIN account_versions v ON v.account_id = a.id
                WHERE lower(a.login) = ANY ($1)`,
        values: [[...logins]],
      });
      const found = await Promise.all(rows.map(async (row) => [row.login, await current(row)] as const));
      return new Map(found.filter((entry): entry is [string, Account] => entry[1] !== undefined));
    },
    async [Symbol.asyncDispose]() {
      await changes?.[Symbol.asyncDispose]();
    },
  };
  changes = await listenForChanges({
    databaseUrl: options.databaseUrl,
    name: 'gatepost dispatcher changes',
    onChange(id) {
      accounts.delete(id);
      options.onChange?.(id, hooks);
    },
    onGap: () => accounts.clear(),
  });
  return hooks;
}

type VersionRow = { login: string; id: number; version: string };

type HookRow = {
  id: number;
  repository_id: number | null;
  deliverable: boolean;
  events: string[];
  url: string;
  content_type: 'json' | 'form';
  insecure_ssl: boolean;
  secret: Buffer | null;
  retry: boolean;
  headers: Buffer | null;
};

// A hook made by an app on a user's behalf rests while its organization restricts apps and has not approved that one.
const hooksOfAccount = `
  SELECT h.id, h.repository_id, h.events, h.url, h.content_type, h.insecure_ssl, h.secret, h.retry, h.headers,
         h.active AND NOT (a.oauth_app_restrictions AND h.created_by_app IS NOT NULL AND NOT EXISTS (
           SELECT FROM oauth_app_approvals p WHERE p.account_id = a.id AND p.client_id = h.created_by_app
         )) AS deliverable
    FROM hooks h JOIN accounts a ON a.id = h.account_id
   WHERE a.id = $1 ORDER BY h.id`;

async function loadAccount(options: { pool: Pool; seal: Seal; log: Log }, id: number): Promise<Account | undefined> {
  const { pool } = options;
  const loadedAt = Date.now();
  // The version first: what is read after it is at least as new.
  const { rows } = await pool.query<{ version: string; throttle_rate: number | null; throttle_burst: number | null }>(
    `SELECT v.version, a.throttle_rate, a.throttle_burst FROM accounts a JOIN account_versions v ON v.account_id = a.id
      WHERE a.id = $1`,
    [id],
  );
  const found = rows[0];
  if (!found) return undefined;
  const [repositories, hooks] = await Promise.all([
    pool.query<{ id: number; name: string }>('SELECT id, lower(name) AS name FROM repositories WHERE account_id = $1', [
      id,
    ]),
    pool.query<HookRow>(hooksOfAccount, [id]),
  ]);
  const readable = hooks.rows.flatMap((row) => {
    try {
      return [readHook(row, id, options.seal)];
    } catch (error) {
      // One unreadable hook (a secret sealed under another key) must not stop its neighbours.
      options.log.error({ 'hook.id': row.id, error }, 'could not read a hook; it gets no deliveries');
      return [];
    }
  });
  return {
    id,
    version: Number(found.version),
    repositories: new Map(repositories.rows.map((row) => [row.name, row.id])),
    hooks: new Map(readable.map((hook) => [hook.id, hook])),
    throttle: { rate: found.throttle_rate, burst: found.throttle_burst },
    loadedAt,
  };
}

function readHook(row: HookRow, accountId: number, seal: Seal): Hook {
  return {
    id: row.id,
    accountId,
    repositoryId: row.repository_id,
    deliverable: row.deliverable,
    events: new Set(row.events),
    url: row.url,
    target: new URL(row.url),
    contentType: row.content_type,
    insecureSsl: row.insecure_ssl,
    keys: row.secret && makeKeys(seal.open(row.secret, hookSecretPurpose)),
    retry: row.retry,
    headers: row.headers ? (JSON.parse(seal.open(row.headers, hookHeadersPurpose)) as Record<string, string>) : {},
  };
}
