/** `users/{id}/authentication-methods` and what belongs to them: recovery codes, remembered browsers. */
import { emailAddress } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';
import { parseIdentifier } from '../accounts/identifier.ts';
import { recoveryCodesId } from '../factors/recovery-code.ts';
import type { Method } from '../factors/store.ts';
import { factorNameOf, type MethodType, methodTypes } from '../factors/types.ts';
import type { AccountModel } from '../generated/models.ts';
import { created, gone, ok, operation } from './operation.ts';
import { checkpointQuery, fieldsQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { checkTargetNotAbove } from './permissions.ts';
import { badBody, ManagementProblem, missing } from './problem.ts';
import { shortText } from './shapes.ts';
import { loadUser } from './users.ts';

export const listAuthenticationMethods = operation({
  query: z.strictObject({ ...pageQuery, ...checkpointQuery, ...fieldsQuery }),
  async run({ parts, params, query }) {
    const { userId } = await loadUser(parts, params.id);
    const methods = await parts.factors.list(userId);
    const all = [...methods.map((method) => present(parts, method)), ...(await recoveryCodesOf(parts, userId))];
    return list(
      'authenticators',
      query,
      ofArray(all, ({ id }) => id),
      (item) => item,
    );
  },
});

export const getAuthenticationMethod = operation({
  async run({ parts, params }) {
    if (params.method_id !== recoveryCodesId) return ok(present(parts, await load(parts, params)));
    const { userId } = await loadUser(parts, params.id);
    const [codes] = await recoveryCodesOf(parts, userId);
    if (!codes) throw notFound();
    return ok(codes);
  },
});

const createBody = z.strictObject({
  type: z.enum(['totp', 'phone', 'email', 'webauthn-roaming']),
  name: shortText.optional(),
  totp_secret: z
    .string()
    .regex(/^[A-Z2-7]{16,128}$/, 'A secret must be Base32, with at least 16 characters')
    .optional(),
  phone_number: z.string().max(64).optional(),
  email: emailAddress.optional(),
  preferred_authentication_method: z.enum(['sms', 'voice']).optional(),
  key_id: z
    .string()
    .max(1_400)
    .regex(/^[\w-]+$/, 'Not base64url')
    .optional(),
  public_key: z
    .string()
    .max(4_000)
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'Not Base64')
    .optional(),
  relying_party_identifier: z.string().max(256).optional(),
});

/** Confirmed from the start, as at Auth0: the caller vouches that it is the person’s. */
export const createAuthenticationMethod = operation({
  body: createBody,
  async run({ parts, params, body, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    const method = await parts.factors.add({ userId, name: body.name, ...ofBody(body) });
    if (!method)
      throw new ManagementProblem(
        409,
        'authentication_method_exists',
        'The key is already registered, or the person has too many',
      );
    return created(present(parts, method));
  },
});

/** Replaces all methods; passkeys stay, recovery codes too unless no method is left, and remembered browsers are asked again. */
export const replaceAuthenticationMethods = operation({
  body: z.array(createBody).max(10),
  async run({ parts, params, body, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    const wanted = body.map((one) => ({ userId, name: one.name, ...ofBody(one) }));
    const after = await parts.factors.replaceAll(userId, wanted);
    if (!after)
      throw new ManagementProblem(409, 'authentication_method_exists', 'Somebody already has one of these keys');
    parts.factorEvents.removed({ userId }, 'all');
    await parts.factors.forgetBrowsers(userId);
    return ok(after.map((method) => present(parts, method)));
  },
});

function ofBody(body: z.infer<typeof createBody>) {
  switch (body.type) {
    case 'totp':
      return { type: body.type, secret: given(body, 'totp_secret') } as const;
    case 'email':
      return { type: body.type, target: given(body, 'email').toLowerCase() } as const;
    case 'phone': {
      const identifier = parseIdentifier(given(body, 'phone_number'));
      if (identifier?.kind !== 'phone') throw badBody('phone_number must be a number with its country code');
      return { type: body.type, target: identifier.value } as const;
    }
    case 'webauthn-roaming':
      return {
        type: body.type,
        credentialId: given(body, 'key_id'),
        publicKey: Buffer.from(given(body, 'public_key'), 'base64'),
        signCount: 0,
        transports: [] as string[],
        aaguid: '00000000-0000-0000-0000-000000000000',
        backedUp: false,
      } as const;
  }
}

function given(
  body: z.infer<typeof createBody>,
  name: 'totp_secret' | 'email' | 'phone_number' | 'key_id' | 'public_key',
) {
  const value = body[name];
  if (value === undefined) throw badBody(`Missing required property: ${name}`);
  return value;
}

export const updateAuthenticationMethod = operation({
  body: z.strictObject({
    name: shortText.nullable().optional(),
    preferred_authentication_method: z.enum(['sms', 'voice']).optional(),
  }),
  async run({ parts, params, body, scopes }) {
    await loadToChange(parts, params.id, scopes);
    const method = await load(parts, params);
    if (body.name === undefined) return ok(present(parts, method));
    const after = await parts.factors.rename(method.userId, method.id, body.name);
    if (!after) throw notFound();
    return ok(present(parts, after));
  },
});

export const deleteAuthenticationMethod = operation({
  async run({ parts, params, scopes }) {
    const { method_id: method = '' } = params;
    const { userId } = await loadToChange(parts, params.id, scopes);
    const isCodes = method === recoveryCodesId;
    const isRemoved = isCodes
      ? await parts.factors.removeRecoveryCodes(userId)
      : await parts.factors.remove(userId, method);
    // The codes go with the last factor: whoever deletes a list one by one may then come to them.
    if (!isRemoved && isCodes) return gone;
    if (!isRemoved) throw notFound();
    parts.factorEvents.removed({ userId }, method.split('|')[0] ?? '');
    return gone;
  },
});

/** Deletes all methods and the recovery codes; remembered browsers are asked again. */
export const deleteAuthenticationMethods = operation({
  async run({ parts, params, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    await removeAll(parts, userId);
    return gone;
  },
});

const typesOf: Record<string, readonly MethodType[]> = {
  'google-authenticator': ['totp'],
  guardian: methodTypes.filter((type) => type !== 'passkey'),
  duo: [],
};

export const deleteMultifactor = operation({
  async run({ parts, params, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    const types = typesOf[params.provider ?? ''];
    if (!types) throw new ManagementProblem(404, 'inexistent_provider', `There is no provider ${params.provider}`);
    if (types.length > 0) await removeAll(parts, userId, types);
    return gone;
  },
});

async function removeAll(parts: Parts, userId: string, types?: readonly MethodType[]): Promise<void> {
  if ((await parts.factors.removeAll(userId, types)) > 0) parts.factorEvents.removed({ userId }, 'all');
  await parts.factors.forgetBrowsers(userId);
}

export const invalidateRememberedBrowsers = operation({
  async run({ parts, params, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    await parts.factors.forgetBrowsers(userId);
    return gone;
  },
});

/** Auth0 has one code at a time; here there are ten, and its tools see the first. */
export const regenerateRecoveryCodes = operation({
  async run({ parts, params, scopes }) {
    const { userId } = await loadToChange(parts, params.id, scopes);
    const recovery_codes = await parts.factors.makeRecoveryCodes(userId);
    return ok({ recovery_code: recovery_codes[0], recovery_codes });
  },
});

export const listEnrollments = operation({
  async run({ parts, params }) {
    const { userId } = await loadUser(parts, params.id);
    const methods = (await parts.factors.list(userId)).filter(({ type }) => type !== 'passkey');
    return ok(
      methods.map(({ id, type, name, createdAt, lastUsedAt, target }) => ({
        id,
        status: 'confirmed',
        type: type === 'totp' ? 'authenticator' : factorNameOf(type as MethodType),
        enrolled_at: createdAt.toISOString(),
        ...(name !== null && { name }),
        ...(type === 'phone' && { phone_number: target }),
        ...(lastUsedAt !== null && { last_auth: lastUsedAt.toISOString() }),
      })),
    );
  },
});

/** Deciding how somebody authenticates comes close to signing in as them. */
async function loadToChange(parts: Parts, id: string | undefined, scopes: ReadonlySet<string>): Promise<AccountModel> {
  const account = await loadUser(parts, id);
  await checkTargetNotAbove(parts, account, scopes);
  return account;
}

async function load(parts: Parts, params: Record<string, string>): Promise<Method> {
  const { userId } = await loadUser(parts, params.id);
  const method = await parts.factors.find(userId, params.method_id ?? '');
  if (!method) throw notFound();
  return method;
}

const notFound = () => missing('authentication_method', 'The authentication method does not exist');

/** A single entry for all of them, as at Auth0. */
async function recoveryCodesOf({ factors }: Parts, userId: string) {
  const [left, createdAt] = await Promise.all([
    factors.recoveryCodesLeft(userId),
    factors.recoveryCodesCreatedAt(userId),
  ]);
  if (!createdAt) return [];
  const created_at = createdAt.toISOString();
  return [{ id: recoveryCodesId, type: 'recovery-code', confirmed: true, left, created_at, enrolled_at: created_at }];
}

/** Never includes an app's key, which is not shown again. */
function present({ issuer }: Parts, method: Method) {
  const { id, type, name, target, credentialId, publicKey, createdAt, lastUsedAt } = method;
  return {
    id,
    type,
    confirmed: true,
    ...(name !== null && { name }),
    ...(type === 'phone' && { phone_number: target, preferred_authentication_method: 'sms' }),
    ...(type === 'email' && { email: target }),
    ...(credentialId !== null && {
      key_id: credentialId,
      public_key: Buffer.from(publicKey ?? []).toString('base64'),
      relying_party_identifier: new URL(issuer).hostname,
      aaguid: method.aaguid,
      credential_backed_up: method.backedUp,
      transports: method.transports,
    }),
    created_at: createdAt.toISOString(),
    enrolled_at: createdAt.toISOString(),
    ...(lastUsedAt !== null && { last_auth_at: lastUsedAt.toISOString() }),
  };
}
