/** Which hooks' deliveries RabbitMQ sends to this process: those whose newest socket is here. */
import { openResponder, type Responder } from '@gatepost/amqp/requests';
import { forwardingTypes } from '@gatepost/contracts/forwarding';
import { unavailable } from '../http/errors.ts';

/** What RabbitMQ routed here before it heard that nothing more is to come may arrive that much later. */
const onTheWayMs = 10_000;

export function makeBindings(options: Parameters<typeof openResponder>[0]) {
  /** By hook: the session that counts here, set before it is bound. */
  const newest = new Map<number, string>();
  /** Hooks whose socket another process has now, with the session that was here, until nothing arrives here any more. */
  const takenAway = new Map<number, string>();
  let responder: Promise<Responder> | undefined;
  /** Connects with the first listener. @throws ApiError 503 */
  const connected = () => {
    responder ??= openResponder(options).catch((error) => {
      responder = undefined;
      throw unavailable(error);
    });
    return responder;
  };
  return {
    connected,
    /** Tells the hook's previous owner that it is this session's now, and has its deliveries sent here. */
    async take(to: Responder, hookId: number, session: string): Promise<void> {
      to.tell(String(hookId), forwardingTypes.takenOver, session);
      newest.set(hookId, session);
      await to.bind(String(hookId));
    },
    /** Stops deliveries from coming here, unless a newer session of the hook is here. */
    async release(hookId: number, session: string): Promise<void> {
      if (newest.get(hookId) !== session) return;
      newest.delete(hookId);
      await (await connected()).unbind(String(hookId));
      if (takenAway.get(hookId) !== session) return;
      setTimeout(() => takenAway.get(hookId) === session && takenAway.delete(hookId), onTheWayMs).unref();
    },
    /** Another process has taken over this session's socket. */
    takenFrom(hookId: number, session: string): void {
      if (newest.get(hookId) === session) takenAway.set(hookId, session);
    },
    isTakenAway: (hookId: number) => takenAway.has(hookId),
    /** The connection, if there is one. */
    opened: async () => responder?.catch(() => undefined),
  };
}
