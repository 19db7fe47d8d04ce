/** One operation of the management API, as data: the router does the rest. */
import type { z } from '@gatepost/runtime/env';

export type Call<Query = unknown, Body = unknown> = {
  /** Path parameters, decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** The application whose token it is. */
  clientId: string;
  /** What that token may do: for operations of which a part wants a scope of its own. */
  scopes: ReadonlySet<string>;
};

/** `body` undefined: an answer without one. */
export type Answer = { status: number; body?: unknown };

export type Route = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below `api/v2`, in Express's form. */
  path: string;
  /** Any one of them opens it. */
  scopes: string[];
  query: z.ZodType | undefined;
  body: z.ZodType | undefined;
  handle: (call: Call) => Promise<Answer>;
};

/** Ties the types of query and body to their schemas. What has no schema arrives undefined. */
export function route<Query extends z.ZodType = z.ZodUndefined, Body extends z.ZodType = z.ZodUndefined>(given: {
  method: Route['method'];
  path: string;
  scopes: string[];
  query?: Query;
  body?: Body;
  handle: (call: Call<z.output<Query>, z.output<Body>>) => Promise<Answer>;
}): Route {
  return { ...given, query: given.query, body: given.body, handle: given.handle as Route['handle'] };
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const gone: Answer = { status: 204 };
