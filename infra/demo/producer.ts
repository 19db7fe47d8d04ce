/** The demo's producer: publishes a CloudEvent to RabbitMQ, as any program with an AMQP library would (docs/asyncapi.yaml). */
import { connect } from 'amqplib';

export type DemoEvent = { id: string; type: string; subject: string; body: Buffer };

/** Publishes the events with `mandatory`, and returns when the broker has confirmed them all. */
export async function publishEvents(amqpUrl: string, events: DemoEvent[]): Promise<void> {
  const connection = await connect(amqpUrl, { noDelay: true });
  try {
    const channel = await connection.createConfirmChannel();
    const returned: string[] = [];
    channel.on('return', (message) => returned.push(message.fields.routingKey));
    for (const event of events) {
      channel.publish('gatepost.events', event.type, event.body, {
        mandatory: true,
        persistent: true,
        contentType: 'application/json',
        headers: {
          'cloudEvents:specversion': '1.0',
          'cloudEvents:id': event.id,
          'cloudEvents:source': 'urn:gatepost:smoke',
          'cloudEvents:type': event.type,
          'cloudEvents:subject': event.subject,
          'cloudEvents:time': new Date().toISOString(),
        },
      });
    }
    await channel.waitForConfirms();
    if (returned.length > 0) throw new Error(`no queue takes ${returned.join(', ')}: has the dispatcher ever run?`);
  } finally {
    await connection.close();
  }
}
