/** What the table of routes says of each: who may call it, and what it does. */
import type { Role } from '../access/place.ts';
import type { Family, Operation } from './operation.ts';

/**
 * `open`: anyone; `token`: any valid token with one of the scopes; `place`: such a token, of a member with that role, and with `firstParty`
 * through one of the installation's own clients. `refusal`: members who lack permission are told so, with 403 instead of 404.
 */
export type Access =
  | { kind: 'open' }
  | { kind: 'token'; scopes: readonly string[] }
  | { kind: 'place'; scopes: readonly string[]; role: Role; firstParty?: true; refusal?: string };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type AnyRoute = {
  method: Method;
  /** Relative to the API's root, as OpenAPI writes it. */
  path: string;
  family: Family;
  access: Access;
  // The table of routes has checked that each operation gets the call it needs.
  operation: Operation<never> & { run(call: unknown): ReturnType<Operation<never>['run']> };
};
