/** Permissions in the operations on roles and people: a scope of an API, with the API's identifier. */
import { z } from 'zod';
import type { Prisma } from '../database.ts';
import type { AccountModel } from '../generated/models.ts';
import type { Api } from '../resources/store.ts';
import type { Parts } from './parts.ts';
import { badBody, insufficientScope, ManagementProblem, missing } from './problem.ts';
import { scope } from './shapes.ts';

export type Permission = { audience: string; permission: string };

export const permissionsBody = z.strictObject({
  permissions: z
    .array(z.strictObject({ resource_server_identifier: z.string().min(1).max(600), permission_name: scope }))
    .min(1)
    .max(1_000),
});

/**
 * Gives the permissions in a body, each of which must exist. Granting permissions of the management API would allow granting them to
 * oneself, so a token may give only those that it holds.
 */
export async function givePermissions(
  parts: Pick<Parts, 'resources' | 'db'>,
  body: z.infer<typeof permissionsBody>,
  held: ReadonlySet<string>,
  write: (transaction: Prisma.TransactionClient, permissions: Permission[]) => Promise<unknown>,
): Promise<void> {
  const given = await namedPermissions(parts, body);
  checkDefined(new Map((await parts.resources.list()).map((api) => [api.identifier, api])), given);
  await checkPermissionsHeld(parts, given, held);
  await parts.db.$transaction(async (transaction) => {
    // As they are now: nobody takes the permissions from their APIs, or deletes one, before they are written.
    const audiences = given.map(({ audience }) => audience);
    checkDefined(await parts.resources.hold(transaction, audiences), given);
    await write(transaction, given);
  });
}

/** @throws ManagementProblem 404 or 400 if there is no such API, or if it has no such scope */
function checkDefined(apis: ReadonlyMap<string, Api>, given: Permission[]): void {
  for (const { audience, permission } of given) {
    const api = apis.get(audience);
    if (!api) throw missing('resource_server', `No resource server has the identifier ${audience}`);
    if (!api.scopes.some(({ value }) => value === permission))
      throw badBody(`The API ${audience} does not define the permission ${permission}`);
  }
}

/** The permissions in a body; the management API may be named after any of our issuers. */
export function namedPermissions(
  { resources }: Pick<Parts, 'resources'>,
  { permissions }: z.infer<typeof permissionsBody>,
): Promise<Permission[]> {
  return Promise.all(
    permissions.map(async ({ resource_server_identifier: audience, permission_name: permission }) => ({
      audience: (await resources.find(audience))?.identifier ?? audience,
      permission,
    })),
  );
}

/**
 * For giving, and for taking away: a token that took them could then sign in as whoever was above it (`checkTargetNotAbove`).
 * @throws ManagementProblem 403 naming the management API permissions that the token does not hold itself.
 */
export async function checkPermissionsHeld(
  { resources }: Pick<Parts, 'resources'>,
  changed: Permission[],
  held: ReadonlySet<string>,
): Promise<void> {
  const management = (await resources.list()).find(({ isSystem }) => isSystem);
  const beyond = changed.filter(
    ({ audience, permission }) => audience === management?.identifier && !held.has(permission),
  );
  if (beyond.length > 0) throw insufficientScope([...new Set(beyond.map(({ permission }) => permission))]);
}

/**
 * Deciding how somebody signs in allows signing in as them. So it takes a token that holds everything the person may do here.
 * @throws ManagementProblem 403
 */
export async function checkTargetNotAbove(
  { permissions }: Pick<Parts, 'permissions'>,
  { userId, linkedTo }: Pick<AccountModel, 'userId' | 'linkedTo'>,
  held: ReadonlySet<string>,
): Promise<void> {
  const above = await permissions.above([linkedTo ?? userId], held);
  if (above.size > 0)
    throw new ManagementProblem(403, 'insufficient_scope', 'The user may do more here than this token may');
}

/** Shows permissions with their APIs' names; those of a deleted API are left out. */
export async function permissionPresenter({ resources }: Parts): Promise<(permission: Permission) => object> {
  const apis = new Map((await resources.list()).map((api) => [api.identifier, api]));
  return ({ audience, permission }) => {
    const api = apis.get(audience);
    const description = api?.scopes.find(({ value }) => value === permission)?.description;
    return {
      resource_server_identifier: audience,
      resource_server_name: api?.isSystem ? 'Auth0 Management API' : (api?.name ?? audience),
      permission_name: permission,
      ...(description !== undefined && { description }),
    };
  };
}

/** The sort key of lists and their checkpoints. */
export const permissionKey = ({ audience, permission }: Permission): string => `${audience} ${permission}`;
