// Publishes one `push` to acme/widgets. A hook of that repository gets it within milliseconds.
import { openProducer, PublishError } from '@gatepost/producer';

const producer = await openProducer({
  url: process.env.PRODUCER_AMQP_URL ?? 'amqp://127.0.0.1',
  source: 'https://ci.example/builds',
});

try {
  const { guid } = await producer.publish({
    type: 'push',
    subject: 'acme/widgets',
    id: 'build-77', // publish it again with this id as often as you like: it is delivered once
    time: new Date(),
    data: { ref: 'refs/heads/main', commits: [{ message: 'Mend the gate' }] },
  });
  console.log(`published; its deliveries carry X-GitHub-Delivery: ${guid}`);
} catch (error) {
  if (!(error instanceof PublishError)) throw error;
  console.error(`not published (${error.code}): ${error.message}`);
  process.exitCode = 1;
} finally {
  await producer.close();
}
