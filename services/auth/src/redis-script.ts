import type { Redis } from 'ioredis';

/**
 * Makes a Lua script of this connection a function of its keys and arguments. Its hash is sent, and its text only if Redis does not know it.
 *
 * Call it before the connection is used: a command defined while others wait in the same turn is unknown to their pipeline, and ioredis
 * (6.0) then loses all their replies.
 * @param keys how many of the first arguments are keys; those of one call lie on one node of a Cluster, by their hash tag
 */
export function defineScript<Answer>(redis: Redis, name: string, lua: string, keys: number) {
  redis.defineCommand(name, { lua, numberOfKeys: keys });
  const call = Reflect.get(redis, name) as (...args: (string | number | Buffer)[]) => Promise<Answer>;
  return (...args: (string | number | Buffer)[]): Promise<Answer> => call.apply(redis, args);
}
