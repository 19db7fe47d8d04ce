/** Publishing by AMQP 1.0, through RabbitMQ's own plug-in, with a client that speaks nothing else. */
import { eventsExchange } from '@gatepost/contracts/topology';
import rhea from 'rhea';

/** Resolves when the broker has accepted the message. */
export async function publishByAmqp10(amqpUrl: string, type: string, contentType: string, body: Buffer): Promise<void> {
  const { hostname, port, username, password, pathname } = new URL(amqpUrl);
  const connection = rhea.create_container().connect({
    host: hostname,
    port: Number(port),
    username,
    password,
    hostname: `vhost:${decodeURIComponent(pathname.slice(1))}`,
    reconnect: false,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('disconnected', ({ error }) => reject(error ?? new Error('disconnected')));
      connection.once('connection_open', () => {
        // RabbitMQ 4 has addresses of a second version, and deprecates those of the first.
        const isFirst = /^3\./.test(connection.properties?.version);
        const sender = connection.open_sender(`/exchange${isFirst ? '' : 's'}/${eventsExchange}/${type}`);
        sender.once('accepted', () => resolve());
        for (const fault of ['rejected', 'released', 'sender_error', 'sender_close'])
          sender.once(fault, () => reject(new Error(`${fault} ${sender.error}`)));
        sender.once('sendable', () => {
          sender.send({ content_type: contentType, body: rhea.message.data_section(body) });
        });
      });
    });
  } finally {
    connection.close();
  }
}
