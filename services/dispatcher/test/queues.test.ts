/** How long queues are that have shards. */
import { openPublisher } from '@gatepost/amqp/publisher';
import { deliveriesQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost, management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { lengthOfShards } from '../src/queues.ts';

// What waits there is late, not lost: it would be sent a second time.
test('events in queues left from a larger number of shards are counted until the queues are deleted', async () => {
  await using vhost = await freshVhost();
  const log = openLog('test', 'silent');
  await using publisher = await openPublisher({ url: vhost.url, name: 'test', log, topology });
  const shard = `${deliveriesQueue}.2`;
  const queues = [...topology.queues, { ...topology.queues[0]!, name: shard }];
  await using larger = await openPublisher({ url: vhost.url, name: 'test', log, topology: { ...topology, queues } });
  for (const routingKey of [deliveriesQueue, shard, shard])
    await larger.publish({ exchange: '', routingKey, body: Buffer.from('x'), messageId: '1' });
  const length = () => lengthOfShards(publisher, deliveriesQueue, { used: 1, there: 2 });
  await until('all three to be counted', async () => (await length()) === 3);
  await management('DELETE', `/api/queues/${new URL(vhost.url).pathname.slice(1)}/${shard}`);
  expect(await length()).toBe(1);
  expect(publisher.isConnected()).toBe(true);
});
