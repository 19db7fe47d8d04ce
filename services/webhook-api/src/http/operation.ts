/** What a route does and how it is documented: one object validates, answers and describes. */
import type { Response } from 'express';
import type { z } from 'zod';
import type { Place, Wanted } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import type { Parts } from '../parts.ts';
import type { RateLimit } from './limits.ts';
import type { AnyRoute } from './route.ts';
import type { Upgrade } from './upgrade.ts';

/** GitHub documents repository and organization routes separately; ours share one implementation with two documentations. */
export type Family = 'repos' | 'orgs';

export type Answer = {
  /** 101: the connection is a WebSocket now, and nothing is written. */
  status: number;
  /** Written as JSON; nothing is written when it is undefined. */
  body?: unknown;
  /** Ready-made JSON text, instead of `body`. */
  json?: string | Buffer;
  /** Takes over the answer once its head is written: a stream, which ends when it chooses. A HEAD request has none. */
  stream?: (response: Response) => void;
  headers?: Record<string, string>;
};

type Asked<Body, Query> = {
  parts: Parts;
  /** Every route, for operations that describe the others. */
  routes: readonly AnyRoute[];
  /** The path's parameters, decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** Absolute URL of the API’s root, with the prefix that this request used and no trailing slash. */
  base: string;
  /** Absolute URL of this request, without its query. */
  url: string;
  /** What the caller has left of this hour's requests. */
  rateLimit(): Promise<RateLimit | undefined>;
  header(name: string): string | undefined;
  /** A HEAD request: nothing follows the head. */
  headOnly: boolean;
  /** Checks the request's token again. @throws ApiError when it is no longer valid. */
  authenticate(): Promise<Token | undefined>;
  /** @throws ApiError 503 once the request has been answered so, because it took too long: then nothing may be changed any more. */
  checkTime(): void;
  /** Set if a WebSocket is requested. */
  upgrade: Upgrade | undefined;
};

/** A call that needs no token. */
export type OpenCall<Body = unknown, Query = unknown> = Asked<Body, Query> & { token: Token | undefined };
/** A call with a valid token. */
export type TokenCall<Body = unknown, Query = unknown> = Asked<Body, Query> & { token: Token };
/** A call for an account or repository; access has not been checked yet. */
export type WantedCall<Body = unknown, Query = unknown> = TokenCall<Body, Query> & { wanted: Wanted };
/** A call for an account or repository that the token may access. */
export type PlaceCall<Body = unknown, Query = unknown> = WantedCall<Body, Query> & { place: Place };

/** For errors there is no schema: they have GitHub's form. */
export type AnswerSchema = {
  description: string;
  schema?: z.ZodType | ((family: Family) => z.ZodType);
  /** A media type other than JSON. */
  mediaType?: string;
};

/** Marks a property in the description that GitHub does not have. */
export const ours = { 'x-gatepost': true } as const;

export type Operation<Call> = {
  /** GitHub's operation id without its family: `list-webhooks`. */
  id: (family: Family) => string;
  summary: string;
  /** Where GitHub describes it; absent for our own operations. */
  docs?: (family: Family) => string;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Successful ones; errors only if they do not follow from the operation's input (`meta/describe.ts`). */
  answers: Record<number, AnswerSchema>;
  /** Looks up its place itself, in the statement that reads there. */
  entersItself?: true;
  /** Creates something that may become numerous: also counted separately. */
  creates?: true;
  /** Answers with server-sent events, starting after the one that `Last-Event-ID` names. */
  streams?: true;
  /** Not counted against the hour's requests. */
  uncounted?: true;
  run(call: Call): Promise<Answer> | Answer;
};

type Definition<Call> = Omit<
  Operation<Call>,
  'id' | 'docs' | 'query' | 'body' | 'entersItself' | 'uncounted' | 'run'
> & {
  id: string | ((family: Family) => string);
  docs?: string | ((family: Family) => string);
};

type Shapes<B, Q> = { body?: B; query?: Q };
type Parsed<S> = S extends z.ZodType ? z.infer<S> : undefined;

/** Declares an operation at a place; its `run` gets body and query as parsed by its schemas. */
export function placeOperation<
  B extends z.ZodType | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
>(
  definition: Definition<PlaceCall> &
    Shapes<B, Q> & { run(call: PlaceCall<Parsed<B>, Parsed<Q>>): Promise<Answer> | Answer },
): Operation<PlaceCall> {
  return complete(definition) as Operation<PlaceCall>;
}

/** Declares an operation that looks up its place itself and checks there that the caller may enter. */
export function enteringOperation<Q extends z.ZodObject | undefined = undefined>(
  definition: Definition<WantedCall> &
    Shapes<undefined, Q> & { run(call: WantedCall<undefined, Parsed<Q>>): Promise<Answer> | Answer },
): Operation<WantedCall> {
  return { ...(complete(definition) as Operation<WantedCall>), entersItself: true };
}

/** Declares an operation for any valid token. */
export function tokenOperation<
  B extends z.ZodType | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
>(
  definition: Definition<TokenCall> &
    Shapes<B, Q> & { run(call: TokenCall<Parsed<B>, Parsed<Q>>): Promise<Answer> | Answer },
): Operation<TokenCall> {
  return complete(definition) as Operation<TokenCall>;
}

/** Declares an operation that needs no token. */
export function openOperation(
  definition: Definition<OpenCall> & { run(call: OpenCall): Promise<Answer> | Answer },
): Operation<OpenCall> {
  return complete(definition) as Operation<OpenCall>;
}

/** The same, not counted against the hour's requests. */
export function uncountedOperation(
  definition: Definition<OpenCall> & { run(call: OpenCall): Promise<Answer> | Answer },
): Operation<OpenCall> {
  return { ...openOperation(definition), uncounted: true };
}

function complete(definition: { id: Definition<never>['id']; docs?: Definition<never>['docs'] }): unknown {
  const { id, docs } = definition;
  return {
    ...definition,
    id: typeof id === 'string' ? () => id : id,
    docs: typeof docs === 'string' ? () => docs : docs,
  };
}
