/**
 * Accounts with their hooks, kept in memory until PostgreSQL notifies us of a change. Only what routing needs of each hook is loaded, in parts;
 * the rest is loaded for deliveries (whole-hooks.ts).
 */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import { hasBacklogSql } from '@gatepost/webhook-db/backlog';
import { type Changes, listenForChanges } from '@gatepost/webhook-db/changes';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Hook, Subscription } from './hook.ts';
import { isDeliverable, isPaused, makeWholeHooks } from './whole-hooks.ts';

export type Account = {
  id: number;
  /** Counts the account's changes. */
  version: number;
  /** Ids by name in lower case. */
  repositories: ReadonlyMap<string, number>;
  hooks: ReadonlyMap<number, Subscription>;
  /** null: the service's defaults apply. */
  throttle: { rate: number | null; burst: number | null };
};

/** `hasBacklog`: deliveries of the account are waiting for its limit. */
export type Found = { account: Account; hasBacklog: boolean };

export type Accounts = AsyncDisposable & {
  /**
   * The current accounts of these logins (lower case), in one query: an event published after a hook was created finds it, however late the
   * notification arrives. Rejects while the database is away.
   */
  ofLogins(logins: Iterable<string>): Promise<Map<string, Found>>;
  /**
   * The accounts of these logins as they were at most a moment ago, with nothing waiting; undefined unless all are known to have been so. Whoever
   * uses them finds out whether they still are.
   */
  remembered(logins: Iterable<string>): Map<string, Found> | undefined;
  /** The account as it was at most a moment ago. */
  ofId(id: number): Promise<Account | undefined>;
  /** The account as it was at this moment (`performance.now()`) or later: read again, unless that has been done since. */
  ofIdSince(id: number, momentMs: number): Promise<Account | undefined>;
  /** A hook of the account as it is now; undefined when it does not exist or cannot be read. */
  hookOf(account: Account, id: number): Promise<Hook | undefined>;
  /** Memory used by whole hooks. */
  keptBytes(): number;
  /** Whether we receive change notifications; while we do not, nothing is cached. */
  isHearing(): boolean;
};

const accountsMax = 20_000;
/** Over all cached accounts. */
const subscriptionsMax = 500_000;
const partMax = 1_000;

export async function openAccounts(options: {
  pool: Pool;
  /** For notifications. */
  directUrl: string;
  seal: Seal;
  log: Log;
}): Promise<Accounts> {
  const whole = makeWholeHooks(options);
  let changes: Changes | undefined;
  const kept = makeKept(
    (id) => loadAccount(options.pool, id),
    () => changes?.isConnected() ?? false,
  );
  const current = async ({ id, version }: VersionRow) => {
    const known = await kept.get(id);
    if (known?.version === Number(version)) return known;
    kept.forget(id);
    return kept.get(id);
  };
  // Ids by login, of accounts of which nothing waited when they were last looked up.
  const idOfLogin = new Map<string, number>();
  const remember = (login: string, found: Found | undefined) => {
    if (idOfLogin.size >= accountsMax) idOfLogin.clear();
    if (found && !found.hasBacklog) idOfLogin.set(login, found.account.id);
    else idOfLogin.delete(login);
  };
  const accounts: Accounts = {
    remembered(logins) {
      const found = new Map<string, Found>();
      for (const login of logins) {
        const account = kept.loaded(idOfLogin.get(login));
        if (!account) return undefined;
        found.set(login, { account, hasBacklog: false });
      }
      return found;
    },
    ofId: kept.get,
    ofIdSince: kept.since,
    hookOf: async (account, id) => (account.hooks.has(id) ? whole.find(id, account.version) : undefined),
    keptBytes: whole.keptBytes,
    isHearing: () => changes?.isConnected() ?? false,
    async ofLogins(logins) {
      const { rows } = await options.pool.query<VersionRow>({
        name: 'accounts by login',
        text: `SELECT lower(a.login) AS login, a.id, v.version, ${hasBacklogSql('a.id')} AS has_backlog
                 FROM accounts a JOIN account_versions v ON v.account_id = a.id WHERE lower(a.login) = ANY ($1)`,
        values: [[...logins]],
      });
      const found = new Map<string, Found>();
      await Promise.all(
        rows.map(async (row) => {
          const account = await current(row);
          if (account) found.set(row.login, { account, hasBacklog: row.has_backlog });
        }),
      );
      for (const login of logins) remember(login, found.get(login));
      return found;
    },
    async [Symbol.asyncDispose]() {
      await changes?.[Symbol.asyncDispose]();
    },
  };
  changes = await listenForChanges({
    databaseUrl: options.directUrl,
    pool: options.pool,
    log: options.log,
    name: 'gatepost dispatcher changes',
    onChange: kept.forget,
    onGap() {
      kept.clear();
      whole.clear();
    },
  });
  return accounts;
}

/** `account`: undefined until it is loaded, or if there is none. `momentMs`: when the loading began. */
type Kept = { loading: Promise<Account | undefined>; account: Account | undefined; momentMs: number };

/** Caches promises rather than values, so that a hundred jobs of one account ask once. Caches nothing while notifications do not arrive. */
function makeKept(load: (id: number) => Promise<Account | undefined>, isHearing: () => boolean) {
  const kept = new Map<number, Kept>();
  let subscriptions = 0;
  const get = (id: number): Promise<Account | undefined> => {
    const known = kept.get(id);
    if (known) return known.loading;
    if (kept.size >= accountsMax || subscriptions >= subscriptionsMax) {
      kept.clear();
      subscriptions = 0;
    }
    const momentMs = performance.now();
    const loading = load(id);
    const one: Kept = { loading, account: undefined, momentMs };
    kept.set(id, one);
    const forget = () => kept.get(id) === one && kept.delete(id);
    loading.then((account) => {
      one.account = account;
      // Also counts entries that a change has since removed: the cache is cleared too early at worst, never too late.
      subscriptions += account?.hooks.size ?? 0;
      if (!isHearing()) forget();
    }, forget);
    return loading;
  };
  return {
    get,
    since(id: number, momentMs: number): Promise<Account | undefined> {
      if ((kept.get(id)?.momentMs ?? 0) < momentMs) kept.delete(id);
      return get(id);
    },
    /** The account, if it is in memory by now. */
    loaded: (id: number | undefined) => (id === undefined ? undefined : kept.get(id)?.account),
    forget: (id: number) => void kept.delete(id),
    clear: () => kept.clear(),
  };
}

type VersionRow = { login: string; id: number; version: string; has_backlog: boolean };

type SubscriptionRow = {
  id: number;
  repository_id: number | null;
  deliverable: boolean;
  paused: boolean;
  events: string[];
};

const subscriptionsOfAccount = `
  SELECT h.id, h.repository_id, h.events, ${isDeliverable} AS deliverable, ${isPaused} AS paused
    FROM hooks h JOIN accounts a ON a.id = h.account_id WHERE a.id = $1 AND h.id > $2 ORDER BY h.id LIMIT $3`;

const repositoriesOfAccount = `
  SELECT id, lower(name) AS name FROM repositories WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`;

async function loadAccount(pool: Pool, id: number): Promise<Account | undefined> {
  // Reads the version first: whatever is read after it is at least as new.
  const { rows } = await pool.query<{ version: string; throttle_rate: number | null; throttle_burst: number | null }>(
    `SELECT v.version, a.throttle_rate, a.throttle_burst FROM accounts a JOIN account_versions v ON v.account_id = a.id
      WHERE a.id = $1`,
    [id],
  );
  const found = rows[0];
  if (!found) return undefined;
  const [repositories, hooks] = await Promise.all([loadRepositories(pool, id), loadSubscriptions(pool, id)]);
  return {
    id,
    version: Number(found.version),
    repositories,
    hooks,
    throttle: { rate: found.throttle_rate, burst: found.throttle_burst },
  };
}

async function loadRepositories(pool: Pool, accountId: number): Promise<Map<string, number>> {
  const repositories = new Map<string, number>();
  for await (const part of inParts<{ id: number; name: string }>(pool, repositoriesOfAccount, accountId))
    for (const { id, name } of part) repositories.set(name, id);
  return repositories;
}

async function loadSubscriptions(pool: Pool, accountId: number): Promise<Map<number, Subscription>> {
  const subscriptions = new Map<number, Subscription>();
  // Most hooks of an account use one of a few event lists.
  const lists = new Map<string, ReadonlySet<string>>();
  for await (const part of inParts<SubscriptionRow>(pool, subscriptionsOfAccount, accountId))
    for (const { id, repository_id: repositoryId, deliverable, paused, events: names } of part) {
      const key = names.join(' ');
      const events = lists.get(key) ?? new Set(names);
      lists.set(key, events);
      subscriptions.set(id, { id, repositoryId, deliverable, paused, events });
    }
  return subscriptions;
}

/** Pages through a statement that takes an account, the id to start after, and a row limit. */
async function* inParts<Row extends { id: number }>(
  pool: Pool,
  text: string,
  accountId: number,
): AsyncGenerator<Row[]> {
  for (let afterId = 0; ; ) {
    const { rows } = await pool.query<Row>(text, [accountId, afterId, partMax]);
    yield rows;
    if (rows.length < partMax) return;
    afterId = rows.at(-1)!.id;
  }
}
