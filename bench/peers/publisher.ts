/** Publishes messages to a target, by HTTP or AMQP, in a separate process: at a rate, or as fast as it accepts them. */
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import { asker } from './http.ts';
import { type Ask, fill, type Message, render, type Target, type Values } from './target.ts';

export type Publishing = {
  post: NonNullable<Target['post']>;
  values: Values;
  total: number;
  /** Per second; undefined: as fast as they are accepted. */
  rate?: number;
  /** For HTTP. */
  connections: number;
};

/** Times in ms since 1970. */
export type Published = {
  taken: number;
  refused: number;
  refusal?: string;
  startedAt: number;
  endedAt: number;
  cpuSeconds: number;
};

const maxUnconfirmed = 2_000;
const now = () => performance.timeOrigin + performance.now();

process.once('message', async (wanted: Publishing) => {
  process.send?.(await publish(wanted), undefined, undefined, () => process.disconnect());
});

async function publish({ post, values, total, rate, connections }: Publishing): Promise<Published> {
  const report: Published = { taken: 0, refused: 0, startedAt: 0, endedAt: 0, cpuSeconds: 0 };
  await using sender = 'http' in post ? byHttp(post.http, values, connections) : await byAmqp(post.amqp, values);
  const atOnce = 'http' in post ? connections : maxUnconfirmed;
  const underWay = new Set<Promise<void>>();
  report.startedAt = now();
  for (let sent = 0; sent < total; ) {
    const due = rate === undefined ? total : Math.min(total, Math.ceil(((now() - report.startedAt) / 1000) * rate) + 1);
    while (sent < due && underWay.size < atOnce) {
      sent += 1;
      const one: Promise<void> = sender
        .send()
        .then(
          () => {
            report.taken += 1;
          },
          (error: Error) => {
            report.refused += 1;
            report.refusal ??= error.message;
          },
        )
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
    if (underWay.size >= atOnce) await Promise.race(underWay);
    else await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(underWay);
  report.endedAt = now();
  const { user, system } = process.cpuUsage();
  report.cpuSeconds = (user + system) / 1e6;
  return report;
}

type Sender = AsyncDisposable & { send(): Promise<void> };

/** The values of one message: its id, the time, and 2 KB with both in one text, which survives being wrapped, sorted or indented. */
function ofMessage(): Values {
  const id = randomUUID();
  const payload = `{"bench":"${id}@${now().toFixed(3)}","ref":"refs/heads/main","padding":"${'x'.repeat(1_900)}"}`;
  return { id, now: new Date().toISOString(), payload };
}

function byHttp(template: Ask, values: Values, connections: number): Sender {
  const ask = asker(connections);
  return {
    async send() {
      const { status, text } = await ask(render(fill(template, { ...values, ...ofMessage() })));
      if (status >= 300) throw new Error(`${status} ${text.slice(0, 200)}`);
    },
    async [Symbol.asyncDispose]() {
      ask.close();
    },
  };
}

async function byAmqp(template: Message, values: Values): Promise<Sender> {
  const { url } = fill(template, values);
  const connection = await connect(url, { noDelay: true });
  const channel = await connection.createConfirmChannel();
  return {
    send() {
      const { exchange, routingKey, properties, json } = fill(template, { ...values, ...ofMessage() });
      return new Promise((resolve, reject) => {
        channel.publish(
          exchange,
          routingKey,
          Buffer.from(JSON.stringify(json)),
          { persistent: true, ...properties },
          (error) => (error ? reject(error) : resolve()),
        );
      });
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
