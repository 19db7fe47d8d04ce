/** The metric of lost connections. Apart from the connection itself, so that a producer in Node gets by without a metrics library. */
import { Counter, type Registry } from '@gatepost/runtime/metrics';

/** `amqp_reconnects_total`, one a registry, whoever asks for it first. */
export function reconnectCounter(registry: Registry): Counter {
  const name = 'amqp_reconnects_total';
  const existing = registry.getSingleMetric(name);
  if (existing) return existing as Counter;
  return new Counter({ name, help: 'AMQP connections lost and made again', registers: [registry] });
}
