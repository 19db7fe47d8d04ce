/**
 * Makes an attempt through a listener's WebSocket by asking the process that holds the socket, over RabbitMQ
 * (docs/decisions/0316-listeners-and-streams.md). We connect to nothing ourselves, so no guard is needed.
 */
import { openRequester, type Requester } from '@gatepost/amqp/requests';
import type { DeliveryTimings } from '@gatepost/contracts/delivery';
import {
  decodeAnswer,
  encodeRequest,
  type ForwardAnswer,
  forwardingTypes,
  lineMaxMs,
  listenersExchange,
} from '@gatepost/contracts/forwarding';
import type { Attempt } from './post.ts';
import type { DeliveryRequest } from './request.ts';

/** `busy`: other deliveries stayed ahead of it for too long; nothing was sent. */
export type Forward = AsyncDisposable &
  ((hookId: number, request: Pick<DeliveryRequest, 'headers' | 'body'>) => Promise<Attempt | { kind: 'busy' }>);

/** Time allowed for the round trip to the listener's process, on top of the listener's own. */
const wayMaxMs = 1_000;

/** Connects on the first delivery to a listener. */
export function makeForward(options: { timeoutMs: number; broker: Parameters<typeof openRequester>[0] }): Forward {
  const { timeoutMs } = options;
  let requester: Promise<Requester> | undefined;
  const connected = () => {
    requester ??= openRequester(options.broker).catch((error) => {
      requester = undefined;
      throw error;
    });
    return requester;
  };
  const ask = async (hookId: number, { headers, body }: Pick<DeliveryRequest, 'headers' | 'body'>) => {
    const { request } = await connected();
    return request({
      exchange: listenersExchange,
      routingKey: String(hookId),
      type: forwardingTypes.delivery,
      body: encodeRequest({ headers, timeoutMs, body }),
      timeoutMs: timeoutMs + lineMaxMs + wayMaxMs,
    });
  };
  const forward = async (hookId: number, request: Pick<DeliveryRequest, 'headers' | 'body'>) => {
    const startedAt = performance.now();
    const got = await ask(hookId, request).catch(() => ({ kind: 'lost' }) as const);
    const total = Math.round(performance.now() - startedAt);
    const answer = got.kind === 'answer' ? decodeAnswer(got.body) : unanswered[got.kind];
    return answer.kind === 'busy' ? answer : asAttempt(answer, total);
  };
  return Object.assign(forward, {
    async [Symbol.asyncDispose]() {
      await (await requester?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  });
}

const error = (code: string, message: string) => ({ kind: 'error', code, message, hadResponse: false }) as const;

const unanswered = {
  unroutable: error('ENOLISTENER', 'no listener'),
  // The process that held the socket is gone or hanging.
  late: error('ENOLISTENER', 'no answer for the listener'),
  // Our own connection is at fault: the attempt does not count.
  lost: error('EBROKER', 'no connection to RabbitMQ'),
};

function asAttempt(answer: Exclude<ForwardAnswer, { kind: 'busy' }>, total: number): Attempt {
  const timings: DeliveryTimings = { dns: null, connect: null, tls: null, first_byte: total, total };
  switch (answer.kind) {
    case 'response':
      return { ...answer, timings };
    case 'timeout':
      return { ...answer, phase: 'while waiting for the head', timings: { ...timings, first_byte: null } };
    case 'error':
      return { ...answer, timings: { ...timings, first_byte: null } };
  }
}
