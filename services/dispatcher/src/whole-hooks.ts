/**
 * Whole hooks, as deliveries need them: with address, secret and headers. Loaded when something is to be delivered, several per statement, and
 * cached while there is room: an account may have more hooks than fit in memory.
 */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { HookColumns } from '@gatepost/webhook-db/hooks';
import type { Pool } from '@gatepost/webhook-db/pool';
import { isRestricted } from '@gatepost/webhook-db/restricted-apps';
import { hookCredentialsPurpose, hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { makeKeys } from './delivering/sign.ts';
import type { Hook } from './hook.ts';

export type WholeHooks = {
  /** A hook as of that account version or later; undefined when there is none or it cannot be read. */
  find(id: number, version: number): Promise<Hook | undefined>;
  /** Forgets all: a version may soon stand for other hooks, since a standby that takes over may lack the last ones. */
  clear(): void;
  /** A conservative estimate of the memory used. */
  keptBytes(): number;
};

/** Rows per statement: a hook may have 64 kB of headers. */
const partMax = 50;
const keptMaxBytes = 16 * 1024 * 1024;
/** The size of an entry without anything large, or while it is being loaded. */
const entryBytes = 2_000;

type Kept = { version: number; loading: Promise<Hook | undefined>; bytes: number };

export function makeWholeHooks(options: { pool: Pool; seal: Seal; log: Log }): WholeHooks {
  // Least recently used first.
  const kept = new Map<number, Kept>();
  let keptBytes = 0;
  const ask = makeAsk(options.pool);

  const forget = (id: number, entry: Kept) => {
    if (kept.get(id) !== entry) return;
    kept.delete(id);
    keptBytes -= entry.bytes;
  };
  const keep = (id: number, entry: Kept) => {
    kept.set(id, entry);
    keptBytes += entry.bytes;
    for (const [oldest, old] of kept) {
      if (keptBytes <= keptMaxBytes) break;
      forget(oldest, old);
    }
  };
  const load = async (id: number): Promise<{ hook: Hook | undefined; bytes: number }> => {
    const row = await ask(id);
    if (!row) return { hook: undefined, bytes: entryBytes };
    return { hook: read(row, options), bytes: entryBytes + 2 * ((row.headers?.length ?? 0) + row.url.length) };
  };
  return {
    keptBytes: () => keptBytes,
    clear() {
      kept.clear();
      keptBytes = 0;
    },
    find(id, version) {
      const known = kept.get(id);
      if (known) forget(id, known);
      if (known && known.version >= version) {
        keep(id, known);
        return known.loading;
      }
      const loaded = load(id);
      const entry: Kept = { version, loading: loaded.then(({ hook }) => hook), bytes: entryBytes };
      keep(id, entry);
      loaded.then(
        ({ bytes }) => {
          if (kept.get(id) !== entry) return;
          forget(id, entry);
          keep(id, { ...entry, bytes });
        },
        () => forget(id, entry),
      );
      return entry.loading;
    },
  };
}

type Row = HookColumns & {
  account_id: number;
  repository_id: number | null;
  deliverable: boolean;
  paused: boolean;
  updated_at: Date;
};

/** A hook that an app made on a user's behalf is inactive while its organization restricts apps and has not approved that one. */
export const isDeliverable = `
  h.active AND NOT ${isRestricted('a.oauth_app_restrictions', 'a.id', 'h.created_by_app')}`;

export const isPaused = '(h.paused_at IS NOT NULL OR a.paused_at IS NOT NULL)';

/** Makes a function that loads rows: requests within one turn of the event loop share statements. */
function makeAsk(pool: Pool): (id: number) => Promise<Row | undefined> {
  let gathering: { ids: Set<number>; rows: Promise<Map<number, Row>> } | undefined;
  const gather = () => {
    const ids = new Set<number>();
    const rows = new Promise((resolve) => setImmediate(resolve)).then(() => {
      gathering = undefined;
      return loadInParts(pool, [...ids]);
    });
    return { ids, rows };
  };
  return async (id) => {
    gathering ??= gather();
    gathering.ids.add(id);
    return (await gathering.rows).get(id);
  };
}

async function loadInParts(pool: Pool, ids: number[]): Promise<Map<number, Row>> {
  const found = new Map<number, Row>();
  for (let start = 0; start < ids.length; start += partMax) {
    const { rows } = await pool.query<Row>({
      name: 'whole hooks',
      text: `SELECT h.id, h.account_id, h.repository_id, h.name, h.events, h.url, h.credentials, h.content_type, h.insecure_ssl, h.secret,
                    h.previous_secret, h.previous_secret_until, h.retry, h.headers, h.updated_at, ${isDeliverable} AS deliverable,
                    ${isPaused} AS paused
               FROM hooks h JOIN accounts a ON a.id = h.account_id WHERE h.id = ANY ($1)`,
      values: [ids.slice(start, start + partMax)],
    });
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

function read(row: Row, { seal, log }: { seal: Seal; log: Log }): Hook | undefined {
  try {
    return {
      id: row.id,
      accountId: row.account_id,
      repositoryId: row.repository_id,
      name: row.name,
      deliverable: row.deliverable,
      paused: row.paused,
      events: new Set(row.events),
      ...readAddress(row, seal),
      contentType: row.content_type,
      insecureSsl: row.insecure_ssl,
      keys: row.secret && makeKeys(seal.open(row.secret, hookSecretPurpose)),
      previousKeys: readPrevious(row, seal),
      retry: row.retry,
      changedAtMs: row.updated_at.getTime(),
      headers: row.headers ? (JSON.parse(seal.open(row.headers, hookHeadersPurpose)) as Record<string, string>) : {},
    };
  } catch (error) {
    // One unreadable hook (a secret sealed under another key) must not stop its neighbours.
    log.error({ 'hook.id': row.id, error }, 'could not read a hook; it gets no deliveries');
    return undefined;
  }
}

function readPrevious(
  { previous_secret: secret, previous_secret_until: until }: Row,
  seal: Seal,
): Hook['previousKeys'] {
  if (!secret || !until || until.getTime() <= Date.now()) return null;
  return { ...makeKeys(seal.open(secret, hookSecretPurpose)), untilMs: until.getTime() };
}

/** A hook's address, and its user name and password as basic authentication (RFC 7617). In old hooks those are in the URL. */
function readAddress({ url, credentials }: Row, seal: Seal): Pick<Hook, 'url' | 'target' | 'authorization'> {
  const sealed = credentials && seal.open(credentials, hookCredentialsPurpose);
  const target = new URL(sealed === null ? url : url.replace('://', () => `://${sealed}@`));
  const [username, password] = [target.username, target.password].map(decodeURIComponent);
  if (!username && !password) return { url, target, authorization: null };
  target.username = '';
  target.password = '';
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return { url: sealed === null ? target.href : url, target, authorization };
}
