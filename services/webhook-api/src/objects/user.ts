/**
 * The owner or author of something, as clients see it (https://docs.github.com/rest/users/users): an account, a person or a machine. GitHub
 * calls them all users.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Place } from '../access/place.ts';
import { linksBelow, linksSchema, webBase } from './links.ts';
import { nodeId } from './node-id.ts';
import { seconds } from './time.ts';

export type User = { login: string; id: number; type: 'Organization' | 'User' | 'Bot' };

const links = {
  followers_url: '/followers',
  following_url: '/following{/other_user}',
  gists_url: '/gists{/gist_id}',
  starred_url: '/starred{/owner}{/repo}',
  subscriptions_url: '/subscriptions',
  organizations_url: '/orgs',
  repos_url: '/repos',
  events_url: '/events{/privacy}',
  received_events_url: '/received_events',
};

/** GitHub's "simple user". */
export const userSchema = z
  .object({
    login: z.string(),
    id: z.int(),
    node_id: z.string(),
    avatar_url: z.url(),
    gravatar_id: z.string(),
    url: z.url(),
    html_url: z.url(),
    ...linksSchema(links),
    type: z.enum(['Organization', 'User', 'Bot']),
    user_view_type: z.literal('public'),
    site_admin: z.boolean(),
  })
  .meta({ id: 'User' });

/** GitHub's "public user". */
export const profileSchema = userSchema
  .extend({
    name: z.string().nullable(),
    company: z.string().nullable(),
    blog: z.string().nullable(),
    location: z.string().nullable(),
    email: z.string().nullable(),
    hireable: z.boolean().nullable(),
    bio: z.string().nullable(),
    twitter_username: z.string().nullable(),
    public_repos: z.int(),
    public_gists: z.int(),
    followers: z.int(),
    following: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Profile' });

/** An organization as a user. */
export const userOfAccount = ({ login, id }: Pick<Place['account'], 'login' | 'id'>): User => ({
  login,
  id,
  type: 'Organization',
});

/**
 * A person or a machine, by the `sub` of their tokens, which is all that is known of them here. The gate's persons have a connection's name
 * before a `|`; machines are named by their client. The number is derived from the subject, above account numbers and below 2^53.
 */
export function userOfSubject(subject: string): User {
  const digest = createHash('sha256').update(subject).digest();
  const id = 2 ** 52 + (digest.readUIntBE(0, 6) * 16 + (digest[6]! >> 4));
  return { login: subject, id, type: subject.includes('|') ? 'User' : 'Bot' };
}

export function presentUser({ login, id, type }: User, base: string): z.infer<typeof userSchema> {
  const url = `${base}/users/${encodeURIComponent(login)}`;
  return {
    login,
    id,
    node_id: nodeId(type, id),
    avatar_url: avatarOf(id, base),
    gravatar_id: '',
    url,
    html_url: `${webBase(base)}/${encodeURIComponent(login)}`,
    ...linksBelow(url, links),
    type,
    user_view_type: 'public',
    site_admin: false,
  };
}

/** `since`: when the user first appeared, as far as that is known. */
export function presentProfile(user: User, since: Date, base: string): z.infer<typeof profileSchema> {
  return {
    ...presentUser(user, base),
    name: user.login,
    company: null,
    blog: null,
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: seconds(since),
    updated_at: seconds(since),
  };
}

/** Where GitHub Enterprise Server has avatars. */
export const avatarOf = (id: number, base: string): string => `${webBase(base)}/avatars/u/${id}`;
