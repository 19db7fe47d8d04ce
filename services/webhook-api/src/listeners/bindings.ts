/** Which hooks' deliveries RabbitMQ sends to this process: those whose newest socket is here. */
import { openResponder, type Responder } from '@gatepost/amqp/requests';
import { forwardingTypes } from '@gatepost/contracts/forwarding';
import { unavailable } from '../http/errors.ts';

export type Bindings = ReturnType<typeof makeBindings>;

export function makeBindings(options: Parameters<typeof openResponder>[0]) {
  /** By hook: the session that counts here, set before it is bound. */
  const newest = new Map<number, string>();
  /** Hooks whose socket another process has now, until nothing arrives here any more. */
  const takenAway = new Set<number>();
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
      takenAway.delete(hookId);
    },
    /** Another process has taken over this session's socket. */
    takenFrom(hookId: number, session: string): void {
      if (newest.get(hookId) === session) takenAway.add(hookId);
    },
    isTakenAway: (hookId: number) => takenAway.has(hookId),
    /** The connection, if there is one. */
    opened: async () => responder?.catch(() => undefined),
  };
}
