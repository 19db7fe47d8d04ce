/**
 * REDIS_URL: one server (`redis://`), the Sentinels that know a primary (`redis-sentinel://`), or nodes of a Cluster (`redis-cluster://`); each
 * also with `rediss` for TLS. Several addresses are separated by commas; `sentinelMasterId` gives the primary's name, as in Lettuce
 * (https://redis.github.io/lettuce/user-guide/connecting-redis/). docs/redis.md has examples.
 */
import { decoded, splitUrls } from './urls.ts';
import { urls } from './values.ts';

export type Node = { host: string; port: number };
export type Credentials = { username?: string; password?: string };
export type RedisUrls = { isTls: boolean; credentials: Credentials } & (
  | { kind: 'one' }
  | { kind: 'sentinel'; sentinels: Node[]; name: string; db: number; sentinelCredentials: Credentials }
  | { kind: 'cluster'; nodes: Node[] }
);

const schemes = ['redis:', 'rediss:', 'redis-sentinel:', 'rediss-sentinel:', 'redis-cluster:', 'rediss-cluster:'];

/** The variable. */
export const redisUrls = urls(schemes).superRefine((text, context) => {
  const addresses = splitUrls(text).map((one) => new URL(one));
  const refuse = (message: string) => context.addIssue({ code: 'custom', message });
  const kind = kindOf(addresses);
  if (new Set(addresses.map(({ protocol }) => protocol)).size > 1)
    return refuse('all its addresses must have the same scheme');
  if (kind === 'one' && addresses.length > 1)
    refuse('several addresses are those of Sentinels (redis-sentinel://) or of a Cluster (redis-cluster://)');
  if (kind === 'sentinel' && !parameterOf(addresses, 'sentinelMasterId'))
    refuse('needs ?sentinelMasterId=, the name that the Sentinels have for the primary');
  if (kind === 'cluster' && addresses.some(({ pathname }) => !/^\/?0?$/.test(pathname)))
    refuse('a Cluster has no databases: its address ends after the port');
});

/** Takes a checked text apart. User name, password and parameters are those of the first address that has them. */
export function readRedisUrls(text: string): RedisUrls {
  const addresses = splitUrls(text).map((one) => new URL(one));
  const common = {
    isTls: addresses[0]?.protocol.startsWith('rediss') === true,
    credentials: credentialsOf(addresses.find(({ username, password }) => username || password)),
  };
  switch (kindOf(addresses)) {
    case 'one':
      return { kind: 'one', ...common };
    case 'sentinel':
      return {
        kind: 'sentinel',
        ...common,
        sentinels: addresses.map((address) => nodeOf(address, 26_379)),
        name: parameterOf(addresses, 'sentinelMasterId') ?? '',
        db: Number(addresses.map(({ pathname }) => pathname.slice(1)).find(Boolean) ?? 0),
        sentinelCredentials: credentialsOf({
          username: parameterOf(addresses, 'sentinelUsername') ?? '',
          password: parameterOf(addresses, 'sentinelPassword') ?? '',
        }),
      };
    case 'cluster':
      return { kind: 'cluster', ...common, nodes: addresses.map((address) => nodeOf(address, 6_379)) };
  }
}

function kindOf([first]: URL[]): RedisUrls['kind'] {
  const [, kind] = /^rediss?-(sentinel|cluster):$/.exec(first?.protocol ?? '') ?? [];
  return (kind as 'sentinel' | 'cluster' | undefined) ?? 'one';
}

function nodeOf({ hostname, port }: URL, usualPort: number): Node {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || usualPort };
}

function credentialsOf(given: { username: string; password: string } | undefined): Credentials {
  const { username = '', password = '' } = given ?? {};
  return { ...(username && { username: decoded(username) }), ...(password && { password: decoded(password) }) };
}

function parameterOf(addresses: URL[], name: string): string | undefined {
  return addresses.map(({ searchParams }) => searchParams.get(name)).find(Boolean) ?? undefined;
}
