/** The metric of lost connections. Separate from the connection, so that a producer in Node needs no metrics library. */
import { Counter, type Registry } from '@gatepost/runtime/metrics';

/** `amqp_reconnects_total`, created once per registry. */
export function reconnectCounter(registry: Registry): Counter {
  const name = 'amqp_reconnects_total';
  const existing = registry.getSingleMetric(name);
  if (existing) return existing as Counter;
  return new Counter({ name, help: 'AMQP connections lost and opened again', registers: [registry] });
}
