/**
 * The minimum of a webhook service: sends each message of a durable queue to one URL by node:http, and acks it when that has answered. A
 * separate process. Arguments: AMQP URL, queue, URL. Sends `ready` to its parent.
 */
import { Agent, request } from 'node:http';
import { connect } from 'amqplib';

const [, , amqpUrl = '', queue = '', url = ''] = process.argv;
const atOnce = 100;
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
const connection = await connect(amqpUrl, { noDelay: true });
const channel = await connection.createChannel();
await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
await channel.prefetch(atOnce);
await channel.consume(queue, (message) => {
  if (!message) return;
  const headers = { 'content-type': 'application/json', 'content-length': message.content.length };
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    response.resume().on('end', () => channel.ack(message));
  });
  sent.on('error', () => channel.nack(message));
  sent.end(message.content);
});
process.send?.('ready');
process.on('disconnect', () => process.exit());
