/**
 * Carries a trace across the requests of one sign-in: what one request stores for the next also names its trace. Used only while
 * tracing is on.
 */
import type { Tracing } from '@gatepost/runtime/tracing';
import type { Adapter, AdapterPayload } from 'oidc-provider';

/** From a pushed or device request through the pages to the code, and from there to the tokens. */
export const carriers: ReadonlySet<string> = new Set([
  'PushedAuthorizationRequest',
  'Interaction',
  'AuthorizationCode',
  'DeviceCode',
]);

type TracedPayload = AdapterPayload & { traceparent?: string };

export function traceThrough(adapter: Adapter, tracing: Tracing): Adapter {
  const joined = <P>(payload: P): P => {
    tracing.join((payload as TracedPayload | undefined)?.traceparent);
    return payload;
  };
  return {
    ...adapter,
    find: async (id) => joined(await adapter.find(id)),
    findByUserCode: async (userCode) => joined(await adapter.findByUserCode(userCode)),
    upsert(id, payload, expiresIn) {
      const traceparent = (payload as TracedPayload).traceparent ?? tracing.current();
      const carrying: TracedPayload = traceparent === undefined ? payload : { ...payload, traceparent };
      return adapter.upsert(id, carrying, expiresIn);
    },
  };
}
