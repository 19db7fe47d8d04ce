/**
 * Name and picture. For somebody who signs in elsewhere they follow the provider, as at Auth0. Roles, permissions, `app_metadata` and anything
 * else that decides what somebody may do cannot be edited here.
 */
import type { Request } from 'express';
import { z } from 'zod';
import { stateOf } from '../accounts/store.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { profileFields } from '../pages/account.ts';
import { labelOf } from '../upstream/offered.ts';
import { isUpstream } from '../upstream/strategies.ts';
import type { Visit } from './visit.ts';

const path = '/account/profile';

const cleared = <Shape extends z.ZodType>(shape: Shape) =>
  z.union([z.literal('').transform(() => null), shape]).optional();
const name = cleared(z.string().max(150));
/** Of all the fields. */
const longest = 2_000;
/** As at Auth0: 300 characters for a name, 2,000 for a picture's address. */
const profile = z.object({
  name: cleared(z.string().max(300)),
  given_name: name,
  family_name: name,
  nickname: cleared(z.string().max(300)),
  picture: cleared(z.url({ protocol: /^https$/ }).max(longest)),
});

export async function showProfile(visit: Visit): Promise<void> {
  const { account } = visit;
  const values = {
    name: account.name,
    given_name: account.givenName,
    family_name: account.familyName,
    nickname: account.nickname,
    picture: account.picture,
  };
  const provider = await providerOf(visit);
  const outcome = await visit.recall(path);
  const shown = profileFields.map((id) => ({ id, value: outcome.typed?.[id] ?? values[id] ?? '' }));
  const page = {
    path,
    profile: shown,
    ...(account.email !== null && { email: account.email, isVerified: account.emailVerified }),
    ...(provider === undefined ? { emailPath: '/account/email' } : { provider }),
  };
  return visit.show('account-profile', page, outcome);
}

export async function changeProfile(visit: Visit, request: Request): Promise<void> {
  if ((await providerOf(visit)) !== undefined) return visit.turnTo(path, { problems: ['refused'] });
  const fields = fieldsOf(request);
  const given = profile.safeParse(trimmed(fields));
  if (!given.success) {
    const isPicture = given.error.issues.some(({ path: [field] }) => field === 'picture');
    const typed = Object.fromEntries(profileFields.map((id) => [id, fields[id]?.slice(0, longest)]));
    return visit.turnTo(path, { problems: [isPicture ? 'picture_invalid' : 'text_too_long'], typed });
  }
  const { given_name: givenName, family_name: familyName, ...rest } = given.data;
  const change = Object.entries({ ...rest, givenName, familyName }).filter(([, value]) => value !== undefined);
  const changed = await visit.parts.accounts.updateState(stateOf(visit.account), Object.fromEntries(change));
  if (!changed) return visit.turnTo(path, { problems: ['refused'] });
  visit.note('sapi', { operation: 'POST account/profile' });
  return visit.turnTo(path, { notice: 'saved' });
}

const trimmed = (fields: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value?.trim()]));

/** The provider that the profile comes from, if any. */
export async function providerOf({ parts, account }: Visit): Promise<string | undefined> {
  const connection = await parts.connections.find(account.connection);
  return connection && isUpstream(connection.strategy) ? labelOf(connection) : undefined;
}
