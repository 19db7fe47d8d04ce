/** One request to one route, from its token to its answer: the spine of this service. */
import type { Request, RequestHandler } from 'express';
import { requiresAuthentication } from '../access/authenticate.ts';
import { checkFirstParty } from '../access/first-party.ts';
import { loadPlace, type Place, type Wanted } from '../access/place.ts';
import { isForPublicOnly, sufficient } from '../access/scopes.ts';
import { callerOf, type Token } from '../access/token.ts';
import type { Parts } from '../parts.ts';
import { writeAnswer } from './answer.ts';
import type { BaseOf } from './base.ts';
import { readBody } from './body.ts';
import { makeDeadline } from './deadline.ts';
import { ApiError, notFound } from './errors.ts';
import { parseShape } from './invalid.ts';
import type { Limits } from './limits.ts';
import type { Answer } from './operation.ts';
import type { Access, AnyRoute } from './route.ts';
import type { Unread } from './unread.ts';
import { upgradeOf } from './upgrade.ts';

/** Shared by all routes. */
export type Shared = {
  routes: readonly AnyRoute[];
  parts: Parts;
  limits: Limits;
  unread: Unread;
  baseOf: BaseOf;
};

export function serve(route: AnyRoute, { routes, parts, limits, unread, baseOf }: Shared): RequestHandler {
  const { access, operation } = route;
  const accepted = access.kind === 'open' ? undefined : [...access.scopes].sort().join(', ');
  return async (request, response) => {
    // Put there by `authenticate`.
    const token = response.locals.token as Token | undefined;
    response.locals.route = route;
    const base = baseOf(request);
    response.locals.base = base;
    if (accepted !== undefined) response.setHeader('X-Accepted-OAuth-Scopes', accepted);
    if (access.kind !== 'open' && !token) throw requiresAuthentication();

    const admitted = await limits.admit(operation.uncounted ? undefined : token, response);
    try {
      // As slow as its client: what the caller may do is checked after it. What is wrong with it is said after that.
      const [sent] = await Promise.allSettled([operation.body && readBody(request, response)]);
      const { within, checkTime } = makeDeadline(parts.storeTimeoutMs);
      const wanted = token && wantedPlace(access, request, token);
      const place = await within(async () => {
        if (token && operation.creates) await limits.admitCreation(token);
        return enter(token, wanted);
      });
      const call = {
        parts,
        routes,
        token,
        wanted,
        place,
        params: request.params as Record<string, string>, // no route has a wildcard
        query: operation.query ? parseShape(operation.query, singleValues(request.query)) : undefined,
        body: bodyOf(sent),
        base,
        url: base + request.path,
        rateLimit: () => limits.left(token),
        header: (name: string) => request.get(name),
        headOnly: request.method === 'HEAD',
        authenticate: response.locals.authenticate,
        checkTime,
        upgrade: upgradeOf(request),
      };
      const answer = await within((): Promise<Answer> | Answer => operation.run(call));
      if (answer.status === 101) return;
      const caller = token ? callerOf(token) : (request.ip ?? '');
      writeAnswer(request, response, answer, (status, bytes) => {
        unread.check(caller, bytes);
        admitted.settle(status, response);
      });
      if (!answer.stream) unread.watch(caller, response);
    } finally {
      admitted.leave();
    }
  };

  async function enter(token: Token | undefined, wanted: Wanted | undefined): Promise<Place | undefined> {
    if (!token || !wanted || operation.entersItself) return undefined;
    const place = await loadPlace(parts.reads, token, wanted);
    if (access.kind === 'place') checkMore(access, token, place);
    return place;
  }

  function bodyOf(sent: PromiseSettledResult<unknown>): unknown {
    if (!operation.body) return undefined;
    if (sent.status === 'rejected') throw sent.reason;
    return parseShape(operation.body, sent.value);
  }
}

function wantedPlace(access: Access, request: Request, token: Token): Wanted | undefined {
  if (access.kind === 'open') return undefined;
  const isSufficient = sufficient(token.scopes, access.scopes);
  const refusal = access.kind === 'place' ? access.refusal : undefined;
  // Without the scope, the client must not learn whether the thing exists.
  if (!isSufficient && !refusal) throw notFound();
  if (access.kind === 'token') return undefined;
  const { owner, org, repo } = request.params as Record<string, string>;
  const publicOnly = isSufficient && isForPublicOnly(token.scopes, access.scopes);
  return { login: owner ?? org ?? '', repository: repo, role: refusal ? 'member' : access.role, publicOnly };
}

/** Refusals that only members see. @throws ApiError 403. */
function checkMore(access: Extract<Access, { kind: 'place' }>, token: Token, place: Place): void {
  if (access.firstParty) checkFirstParty(token);
  const { refusal, role, scopes } = access;
  if (refusal && (place.role !== role || !sufficient(token.scopes, scopes))) throw new ApiError(403, refusal);
}

/** Of a repeated parameter the last value counts. */
function singleValues(query: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value.at(-1) : value]),
  );
}
