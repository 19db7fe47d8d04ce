/** A person's own stored data: everything about the account except what authenticates them. */
import { accountClaims, isSessionEnded } from '../accounts/store.ts';
import { countedFrom } from '../library/sessions.ts';
import { connectedTo } from './applications.ts';
import { selfServiceOf } from './settings.ts';
import { linkedTo } from './sign-ins.ts';
import type { Visit } from './visit.ts';

const path = '/account/data';
export const downloadPath = `${path}/download`;
export const deletionPath = '/account/delete';
const logsMax = 1_000;

export async function showData(visit: Visit): Promise<void> {
  const deletion = selfServiceOf(visit.settings).delete ? { deletion: deletionPath } : {};
  return visit.show('account-data', { path, download: downloadPath, ...deletion }, await visit.recall(path));
}

export async function download(visit: Visit): Promise<void> {
  const { response } = visit;
  const body = JSON.stringify(await dataOf(visit), undefined, 2);
  visit.note('sapi', { operation: 'GET account/data' });
  response
    .set('cache-control', 'no-store')
    .set('content-type', 'application/json; charset=utf-8')
    .set('content-disposition', 'attachment; filename="account.json"')
    .set('x-content-type-options', 'nosniff')
    .end(body);
}

async function dataOf(visit: Visit): Promise<object> {
  const { parts, account } = visit;
  const { userId } = account;
  const [linked, methods, sessions, applications, roles, organizations, logs] = await Promise.all([
    linkedTo(visit),
    parts.factors.list(userId),
    parts.sessions.ofAccount(userId),
    connectedTo(visit),
    parts.db.userRole.findMany({ where: { userId }, select: { role: { select: { name: true } } } }),
    parts.db.organizationMember.findMany({ where: { userId }, select: { organization: { select: { name: true } } } }),
    parts.db.logEntry.findMany({ where: { userId }, orderBy: { id: 'desc' }, take: logsMax }),
  ]);
  return {
    user: {
      user_id: userId,
      ...(await claimsOf(account)),
      user_metadata: account.userMetadata,
      created_at: account.createdAt,
      last_login: account.lastLogin,
      last_ip: account.lastIp,
      logins_count: account.loginsCount,
      last_password_reset: account.lastPasswordReset,
    },
    identities: await Promise.all(
      [account, ...linked].map(async (identity) => ({
        user_id: identity.userId,
        connection: identity.connection,
        ...(await claimsOf(identity)),
      })),
    ),
    authentication_methods: methods.map(({ id, type, name, target, createdAt, lastUsedAt }) => ({
      id,
      type,
      name,
      target,
      created_at: createdAt,
      last_used_at: lastUsedAt,
    })),
    sessions: sessions
      .filter((each) => !isSessionEnded(countedFrom(each), account))
      .map(({ uid, loginTs, device }) => ({ id: uid, authenticated_at: new Date(loginTs * 1000), device })),
    applications,
    roles: roles.map(({ role }) => role.name),
    organizations: organizations.map(({ organization }) => organization.name),
    logs: logs.map(({ date, type, clientId, ip }) => ({ date, type, client_id: clientId, ip })),
  };
}

/** By OpenID's names. */
async function claimsOf(account: Visit['account']): Promise<object> {
  const { sub: _, ...claims } = accountClaims(account);
  return claims;
}
