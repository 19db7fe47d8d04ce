/** Receives webhooks from Gatepost and GitHub: checks the signature, reads the body, and passes each event to your function once. */
export { type Delivery, readDelivery } from './delivery.ts';
export { fastifyReceiver } from './fastify.ts';
export { nodeReceiver } from './node.ts';
export { type DeliveryStore, memoryStore } from './once.ts';
export type { Handler, ReceiverOptions } from './receive.ts';
export { Refused, type RefusedCode } from './refused.ts';
export { verifySignature } from './signature.ts';
export { webReceiver } from './web.ts';
