/** `tickets`: links that an application hands over itself. Anybody who holds one may use it. */

import { baseUrlOf } from '@gatepost/runtime/issuer';
import { z } from 'zod';
import { identityOf } from '../accounts/present-user.ts';
import { stateOf } from '../accounts/store.ts';
import { verificationPath } from '../accounts/verification-mail.ts';
import type { AccountModel } from '../generated/models.ts';
import { httpUri } from '../http/http-uri.ts';
import { created, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { checkTargetNotAbove } from './permissions.ts';
import { badBody, ManagementProblem, missing } from './problem.ts';
import { loadUser } from './users.ts';

/** 0 or absent means five days, as at Auth0. */
const ttlDefault = 432_000;
const ttlMax = 2_592_000;

export const identityBody = z.strictObject({
  user_id: z.string().max(300),
  provider: z.string().max(256),
  connection_id: z.string().max(256).optional(),
});
type Identity = z.infer<typeof identityBody>;

const link = {
  result_url: httpUri.optional(),
  client_id: z.string().max(256).optional(),
  ttl_sec: z.int().min(0).max(ttlMax).optional(),
  includeEmailInRedirect: z.boolean().optional(),
  identity: identityBody.optional(),
};

export const createEmailVerificationTicket = operation({
  body: z.strictObject({ ...link, user_id: z.string().max(300) }),
  async run({ parts, body, scopes: held }) {
    if (body.result_url !== undefined && body.client_id !== undefined)
      throw badBody('result_url cannot be specified together with client_id');
    await checkClient(parts, body.client_id);
    const account = await namedAccount(parts, body);
    // A mailed code opens an account with a verified address.
    await checkTargetNotAbove(parts, account, held);
    if (!account.email) throw new ManagementProblem(400, 'operation_not_supported', 'The user has no email address.');
    const ticket = await parts.verificationTickets.issue(
      { account: stateOf(account), ...keptOf(account, body) },
      ttlOf(body),
    );
    return created({ ticket: `${baseUrlOf(parts.issuer)}${verificationPath.slice(1)}?ticket=${ticket}` });
  },
});

export const createPasswordChangeTicket = operation({
  body: z
    .strictObject({
      ...link,
      user_id: z.string().max(300),
      connection_id: z.string().max(256),
      email: z.string().max(320),
      mark_email_as_verified: z.boolean(),
    })
    .partial(),
  async run({ parts, body, scopes: held }) {
    await checkClient(parts, body.client_id);
    const account = await ownerOfPassword(parts, body);
    await checkTargetNotAbove(parts, account, held);
    const unproven = body.mark_email_as_verified !== true;
    const about = { account: stateOf(account), ...keptOf(account, body), unproven };
    const ticket = await parts.passwordTickets.issue(about, ttlOf(body));
    return created({ ticket: `${baseUrlOf(parts.issuer)}change-password?ticket=${ticket}` });
  },
});

type LinkBody = { result_url?: string; client_id?: string; ttl_sec?: number; includeEmailInRedirect?: boolean };

function keptOf({ email }: AccountModel, { result_url, client_id, includeEmailInRedirect = true }: LinkBody) {
  return {
    email: email ?? '',
    includeEmail: includeEmailInRedirect,
    ...(client_id && { clientId: client_id }),
    ...(result_url && { resultUrl: result_url }),
  };
}

const ttlOf = ({ ttl_sec }: LinkBody) => ttl_sec || ttlDefault;

/** The account that the body names, by `user_id` or by `email` within a connection. @throws ManagementProblem 400, 404 */
async function ownerOfPassword(
  parts: Parts,
  body: { user_id?: string; email?: string; connection_id?: string; identity?: Identity },
): Promise<AccountModel> {
  const { user_id, email, connection_id } = body;
  const connections = await parts.connections.list();
  if (user_id !== undefined) {
    if (email !== undefined || connection_id !== undefined)
      throw badBody('user_id cannot be specified together with email or connection_id');
    const account = await namedAccount(parts, { user_id, identity: body.identity });
    if (connections.find(({ name }) => name === account.connection)?.strategy !== 'auth0')
      throw new ManagementProblem(400, 'operation_not_supported', "The user's connection has no passwords.");
    return account;
  }
  if (email === undefined || connection_id === undefined)
    throw badBody('Missing required property: user_id, or email and connection_id');
  const connection = connections.find(({ id }) => id === connection_id);
  if (connection?.strategy !== 'auth0') throw missing('connection', 'The connection does not exist.');
  const account = await parts.db.account.findFirst({
    where: { connection: connection.name, email: email.toLowerCase() },
  });
  if (!account) throw missing('user', 'The user does not exist.');
  return account;
}

/** The account of a user, or of one of their identities. @throws ManagementProblem 404 */
export async function namedAccount(
  parts: Parts,
  { user_id, identity }: { user_id: string; identity?: Identity | undefined },
): Promise<AccountModel> {
  const user = await loadUser(parts, user_id);
  if (!identity) return user;
  const connections = await parts.connections.list();
  const linked = await parts.db.account.findMany({ where: { linkedTo: user.userId } });
  const account = [user, ...linked].find((one) => {
    const connection = connections.find(({ name }) => name === one.connection);
    const { provider, user_id: id } = identityOf(one, connection);
    const isThere = identity.connection_id === undefined || identity.connection_id === connection?.id;
    return isThere && provider === identity.provider && [id, one.userId].includes(identity.user_id);
  });
  if (!account) throw missing('identity', 'The user has no such identity.');
  return account;
}

/** @throws ManagementProblem 404 */
export async function checkClient({ clients }: Parts, clientId: string | undefined): Promise<void> {
  if (clientId !== undefined && !(await clients.find(clientId))) throw missing('client', 'The client does not exist.');
}
