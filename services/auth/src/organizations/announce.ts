/**
 * Announces to the post those organizations that are accounts there (`gatepost_account: "true"` in their metadata). Each change
 * increments a version in the database; anything not yet announced is sent, always as the whole organization, until the broker confirms
 * it, and again once its key is revoked or retired, since the post may not have read it by then. So nothing is lost, whoever made the
 * change, and a duplicate or late message changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { reconnectCounter } from '@gatepost/amqp/reconnects';
import {
  type OrganizationStatement,
  organizationMembersMax,
  organizationStatement,
  organizationsExchange,
  organizationsTopology,
} from '@gatepost/contracts/organizations';
import { describeError, type Log, logOfModule } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import type { Seal } from '@gatepost/runtime/seal';
import { importJWK, SignJWT } from 'jose';
import type { Env } from '../config.ts';
import type { Database, Pool } from '../database.ts';
import { loadSigningKeys } from '../keys/signing-keys.ts';

const everyMs = 1_000;
const atOnce = 50;

type Announced = { env: Env; log: Log; registry: Registry; db: Database; pool: Pool; seal: Seal };

export async function openAnnouncements({ env, log, registry, db, pool, seal }: Announced): Promise<AsyncDisposable> {
  const moduleLog = logOfModule(log, 'organizations');
  const { openPublisher } = await import('@gatepost/amqp/publisher'); // most gates have no broker
  const publisher = await openPublisher({
    url: env.AMQP_URL!, // config.ts has checked that there is one
    name: 'gatepost-auth organizations',
    log: moduleLog,
    reconnects: reconnectCounter(registry),
    topology: organizationsTopology,
    waitForConnect: false,
  });
  const say = async (statement: OrganizationStatement) => {
    const key = (await loadSigningKeys(db, seal)).find(({ alg }) => alg === 'RS256')!;
    const { typ, audience } = organizationStatement;
    const text = await new SignJWT({ organization: statement })
      .setProtectedHeader({ alg: 'RS256', typ, kid: key.kid! })
      .setIssuer(env.ISSUER)
      .setAudience(audience)
      .setIssuedAt()
      .sign(await importJWK(key, 'RS256'));
    const message = { exchange: organizationsExchange, routingKey: '', messageId: randomUUID() };
    await publisher.publish({ ...message, contentType: 'application/jwt', body: Buffer.from(text) });
    return key.kid;
  };
  let keys: string | undefined;
  const announce = async () => {
    const now = await publishedKeys(pool);
    if (now !== keys) await reannounceUnverifiable(pool);
    keys = now;
    for (const row of await pendingAnnouncements(pool, env.WEBHOOK_API_AUDIENCE))
      await row.done(await say(row.statement));
  };
  await reannounceAdmins(pool);
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (!publisher.isConnected()) return;
    running ??= announce()
      .catch((error) => moduleLog.warn({ error: describeError(error) }, 'organizations were not announced'))
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
      await publisher[Symbol.asyncDispose]();
    },
  };
}

type Row = {
  id: string;
  name: string;
  version: string;
  is_account: boolean;
  members: OrganizationStatement['members'];
};

/**
 * Who is an admin depends on the audience this gate was started with; an earlier start with another audience, or a release that accepted
 * the permission of any API, may have said otherwise.
 */
async function reannounceAdmins(pool: Pool): Promise<void> {
  await pool.query(
    `UPDATE organizations o SET version = version + 1
      WHERE metadata ->> 'gatepost_account' = 'true' AND EXISTS (
        SELECT FROM organization_member_roles r JOIN role_permissions p ON p.role_id = r.role_id AND p.permission = 'admin:org'
         WHERE r.organization_id = o.id)`,
  );
}

const published = `SELECT kid FROM signing_keys WHERE alg = 'RS256' AND revoked_at IS NULL AND (retires_at IS NULL OR retires_at > now())`;

async function publishedKeys(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ kid: string }>(`${published} ORDER BY kid`);
  return rows.map(({ kid }) => kid).join();
}

/** Makes those pending whose last statement can no longer be checked. */
async function reannounceUnverifiable(pool: Pool): Promise<void> {
  await pool.query(
    `UPDATE organizations SET version = version + 1 WHERE version = announced AND announced_key NOT IN (${published})`,
  );
}

/**
 * An admin of the account is anybody whose roles within the organization allow `admin:org` of the post's own API. Machines aside, nobody
 * else is: other APIs may use the same name for something of their own.
 */
async function pendingAnnouncements(
  pool: Pool,
  audience: string,
): Promise<{ statement: OrganizationStatement; done(kid: string): Promise<unknown> }[]> {
  const { rows } = await pool.query<Row>({
    name: 'organizations unannounced',
    text: `SELECT o.id, o.name, o.version, coalesce(o.metadata ->> 'gatepost_account', '') = 'true' AS is_account,
             coalesce((SELECT jsonb_agg(jsonb_build_object('subject', member.user_id, 'role', member.role) ORDER BY member.user_id)
               FROM (SELECT m.user_id, CASE WHEN EXISTS (
                       SELECT FROM organization_member_roles r
                         JOIN role_permissions p ON p.role_id = r.role_id AND p.permission = 'admin:org' AND p.audience = $1
                        WHERE r.organization_id = m.organization_id AND r.user_id = m.user_id) THEN 'admin' ELSE 'member' END AS role
                       FROM organization_members m WHERE m.organization_id = o.id LIMIT ${organizationMembersMax}) member), '[]') AS members
             FROM organizations o WHERE o.version > o.announced ORDER BY o.id LIMIT ${atOnce}`,
    values: [audience],
  });
  const { rows: former } = await pool.query<Pick<Row, 'id' | 'name' | 'version'>>({
    name: 'organizations gone',
    text: `SELECT id, name, version FROM former_organizations WHERE announced_key NOT IN (${published}) ORDER BY id LIMIT ${atOnce}`,
  });
  const said = ({ version, is_account: isAccount, members, ...row }: Row): OrganizationStatement => ({
    ...row,
    version: Number(version),
    is_account: isAccount,
    members: isAccount ? members : [],
  });
  return [
    ...rows.map((row) => ({
      statement: said(row),
      done: (kid: string) =>
        pool.query('UPDATE organizations SET announced = greatest(announced, $2), announced_key = $3 WHERE id = $1', [
          row.id,
          row.version,
          kid,
        ]),
    })),
    ...former.map((row) => ({
      statement: said({ ...row, is_account: false, members: [] }),
      done: (kid: string) =>
        pool.query('UPDATE former_organizations SET announced_key = $2 WHERE id = $1', [row.id, kid]),
    })),
  ];
}
