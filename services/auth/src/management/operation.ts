/** What a route does: one object declares its input and its answer. The table (routes.ts) says where it is and who may use it. */
import type { z } from '@gatepost/runtime/env';
import type { Parts } from './parts.ts';

export type Call<Query = unknown, Body = unknown> = {
  parts: Parts;
  /** Path parameters, decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** What the token may do: for operations of which a part wants a scope of its own. */
  scopes: ReadonlySet<string>;
  /** Of the pages that may read the answer. */
  origins: string[];
};

/** `body` undefined: an answer without one. */
export type Answer = { status: number; body?: unknown };

export type Operation = {
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  /** The body is a form with a file (multipart.ts). */
  multipart?: true;
  run(call: Call): Promise<Answer> | Answer;
};

/** Declares an operation; its `run` gets the query and body as its schemas give them. What has no schema arrives undefined. */
export function operation<
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(definition: {
  query?: Query;
  body?: Body;
  multipart?: true;
  run(call: Call<z.output<Query>, z.output<Body>>): Promise<Answer> | Answer;
}): Operation {
  // The spine hands `run` what these schemas gave.
  return definition as Operation;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const gone: Answer = { status: 204 };
