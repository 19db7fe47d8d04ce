/** The gate's foundation: the databases, and everything that must be in them before anything else reads them. */
import { readFileSync } from 'node:fs';
import { refuseDemo } from '@gatepost/contracts/demo-secrets';
import { inSeedFile, parseSeed } from '@gatepost/contracts/seed';
import { logOfModule } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import type { Start } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
import { readActions } from './actions/folder.ts';
import { openActionPackages } from './actions/packages.ts';
import { openChanges } from './changes.ts';
import { authDatabaseOf, type Env } from './config.ts';
import { openDatabase } from './database.ts';
import { refuseDemoSecrets } from './demo-secrets.ts';
import { frontsOf } from './fronts.ts';
import { deriveKey } from './keys/derived.ts';
import { checkSecretsKey, ensureSigningKeys } from './keys/signing-keys.ts';
import { checkMigrated, migrateAuth } from './migrations.ts';
import { openRedis } from './redis.ts';
import { managementApi } from './resources/management-api.ts';
import { applySeed } from './seed.ts';

export type Infrastructure = Awaited<ReturnType<typeof openInfrastructure>>;

/** Opens and fills them. @throws Misconfigured when the environment or a seed is wrong */
export async function openInfrastructure({ env, log, stack }: Start<Env>) {
  const databaseUrls = authDatabaseOf(env);
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  const registry = openMetrics();
  // Before anything is opened, so that a bad seed file costs nothing.
  const seeds = env.SEED_FILE.map((file) => ({ file, seed: parseSeed(readFileSync(file, 'utf8'), file) }));
  const actionPackages = openActionPackages(env.ACTIONS_PACKAGES);
  const ofFolder = readActions(env.ACTIONS_DIR, actionPackages.listed);
  const fronts = frontsOf(env);
  const isProduction = env.NODE_ENV === 'production';
  if (isProduction) for (const { file, seed } of seeds) await inSeedFile(file, () => refuseDemo(seed));

  if (env.MIGRATE_AT_START === 'on') {
    const { applied } = await migrateAuth(databaseUrls.directUrl);
    if (applied.length > 0) log.info({ applied }, 'migrated');
  } else await checkMigrated(databaseUrls.url);
  const { pool, db, searchPool, onOwnWrite } = stack.use(
    openDatabase(databaseUrls, env.STORE_TIMEOUT_MS, logOfModule(log, 'stores')),
  );
  const redis = stack.adopt(
    await openRedis(env.REDIS_URL, env.STORE_TIMEOUT_MS / 2, logOfModule(log, 'stores')),
    (opened) => void opened.disconnect(),
  );
  const changes = stack.use(await openChanges(databaseUrls.directUrl, pool, logOfModule(log, 'stores')));
  await checkSecretsKey(pool, seal);
  await ensureSigningKeys(pool, seal);
  for (const { file, seed } of seeds)
    await inSeedFile(file, () => applySeed(db, seed, managementApi(env.ISSUER), seal));
  if (isProduction) await refuseDemoSecrets(pool);

  const prefix = `${env.REDIS_KEY_PREFIX}auth:`;
  const keyFor = (purpose: string) => deriveKey(env.SECRETS_KEY, purpose);
  /** Our key first, then the one that is also valid while SECRETS_KEY changes. */
  const keysFor = (purpose: string) =>
    [env.SECRETS_KEY, env.SECRETS_KEY_OTHER].flatMap((key) => (key ? [deriveKey(key, purpose)] : []));
  return {
    env,
    log,
    stack,
    registry,
    fronts,
    issuers: fronts.map(({ issuer }) => issuer),
    seal,
    keyFor,
    keysFor,
    pool,
    db,
    searchPool,
    onOwnWrite,
    redis,
    prefix,
    changes,
    seeds,
    ofFolder,
    actionPackages,
  };
}
