/** `GET …/hooks/{hook_id}/socket`: the WebSocket that brings a command-line hook its deliveries; `ws_url` leads here. */
import { loadPlace, type Wanted } from '../access/place.ts';
import { BadCredentials, type Token } from '../access/token.ts';
import { refuse } from '../hooks/refuse.ts';
import { findHook, loadHook } from '../hooks/rows.ts';
import { ApiError } from '../http/errors.ts';
import { type PlaceCall, placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import type { Upgrade } from '../http/upgrade.ts';
import type { Parts } from '../parts.ts';
import { findPlaceNames } from './rows.ts';

export const connectListener = placeOperation({
  id: 'connect-webhook-listener',
  summary: 'Open the WebSocket through which a `cli` webhook gets its deliveries',
  answers: {
    101: { description: 'From here on the connection is a WebSocket' },
    422: { description: 'The hook is not a `cli` hook' },
    426: { description: 'The request does not ask for a WebSocket (RFC 6455)' },
  },
  async run(call) {
    const { parts, place, token, params, upgrade } = call;
    const id = parseHookId(params);
    const row = await loadHook(parts.pool, place, token, id);
    if (row.name !== 'cli') throw refuse('name', 'Only webhooks whose name is cli have a WebSocket');
    checkHandshake(upgrade);
    const standing = () => standingOf(call, id);
    await parts.listeners.accept({ upgrade, hookId: id, token, standing });
    return { status: 101 };
  },
});

/** @throws ApiError 400, 403 or 426 in cases that the library would answer without our headers. */
function checkHandshake(upgrade: Upgrade | undefined): asserts upgrade is Upgrade {
  const headers = { Upgrade: 'websocket', Connection: 'Upgrade, close' };
  if (!upgrade) throw new ApiError(426, 'Upgrade Required', { headers });
  const asked = upgrade.request.headers;
  // Pages of other sites may open WebSockets without the browser asking us first (RFC 6455 section 10.2).
  if (asked.origin !== undefined) throw new ApiError(403, 'Browsers may not listen');
  if (asked['sec-websocket-version'] !== '13')
    throw new ApiError(426, 'Upgrade Required', { headers: { ...headers, 'Sec-WebSocket-Version': '13' } });
  if (!/^[+/0-9A-Za-z]{22}==$/.test(asked['sec-websocket-key'] ?? ''))
    throw new ApiError(400, 'Sec-WebSocket-Key is missing or wrong');
  if (!isProtocolList(asked['sec-websocket-protocol']))
    throw new ApiError(400, 'Sec-WebSocket-Protocol is not a list of different names');
}

/** RFC 6455 section 4.1: tokens, none of them twice. */
function isProtocolList(header: string | undefined): boolean {
  if (header === undefined) return true;
  const names = header.split(/[ \t]*,[ \t]*/);
  return new Set(names).size === names.length && names.every((name) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name));
}

/** The hook's place, which may have been renamed since the socket was opened; undefined: the hook no longer exists. */
async function loadPlaceNow(reads: Parts['reads'], token: Token, wanted: Wanted, id: number) {
  try {
    return await loadPlace(reads, token, wanted);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const names = await findPlaceNames(reads, id);
    return names && loadPlace(reads, token, { ...wanted, ...names });
  }
}

/** Whether the listener may still listen, by token, scopes and place, as when the socket was opened. */
async function standingOf(
  { parts: { reads }, token, wanted, authenticate }: Pick<PlaceCall, 'parts' | 'token' | 'wanted' | 'authenticate'>,
  id: number,
): Promise<'good' | 'refused' | 'gone'> {
  try {
    await authenticate();
    const place = await loadPlaceNow(reads, token, wanted, id);
    return place && (await findHook(reads, place, token, id)) ? 'good' : 'gone';
  } catch (error) {
    if (error instanceof BadCredentials) return 'refused';
    if (error instanceof ApiError && [403, 404].includes(error.status)) return 'refused';
    return 'good'; // a store or the gate is away: it will be checked again
  }
}
