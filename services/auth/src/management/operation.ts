/** What a route does: one object declares its input and its answer. The table (routes.ts) holds its path and scopes. */
import type { z } from 'zod';
import type { Parts } from './parts.ts';

export type Call<Query = unknown, Body = unknown> = {
  parts: Parts;
  /** Path parameters, decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** The token's scopes, for operations where a part needs a scope of its own. */
  scopes: ReadonlySet<string>;
  /** The origins of pages that may read the answer. */
  origins: string[];
};

/** `body` undefined: an empty response. */
export type Answer = { status: number; body?: unknown };

export type Operation = {
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  /** The body is a form with a file (multipart.ts). */
  multipart?: true;
  run(call: Call): Promise<Answer> | Answer;
};

/** Declares an operation; its `run` gets query and body as parsed by its schemas. Without a schema they are undefined. */
export function operation<
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(definition: {
  query?: Query;
  body?: Body;
  multipart?: true;
  run(call: Call<z.output<Query>, z.output<Body>>): Promise<Answer> | Answer;
}): Operation {
  // serve.ts passes `run` what these schemas returned.
  return definition as Operation;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const gone: Answer = { status: 204 };
