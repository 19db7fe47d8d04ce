/** Which brokers `AMQP_URL` names, and how to connect to each. */
import querystring from 'node:querystring';
import { splitUrls } from '@gatepost/runtime/urls';
import type { Options } from 'amqplib';

const heartbeatSeconds = 10;

/**
 * The addresses of one cluster, in a form that amqplib takes for a URL. amqplib keeps one URL for all its tries, but reads `protocol` first,
 * exactly once per try: that is when the next address is chosen. Addresses come in random order, each once before any repeats, so that
 * connections spread over the nodes and a dead one costs one try.
 */
export function brokersOf(urls: string): Options.Connect {
  const brokers = splitUrls(urls).map(brokerOf);
  let left: Options.Connect[] = [];
  let current: Options.Connect = {};
  return new Proxy<Options.Connect>(
    {},
    {
      get(_target, name) {
        if (name === 'protocol') {
          if (left.length === 0) left = shuffled(brokers);
          current = left.pop() as Options.Connect;
        }
        return Reflect.get(current, name);
      },
    },
  );
}

/** URL parameters that amqplib wants as numbers. */
const numbers = ['heartbeat', 'frameMax', 'channelMax', 'maxFrameSize'] as const;

function brokerOf(text: string): Options.Connect {
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text);
  const given = numbers.filter((name) => searchParams.has(name));
  return {
    protocol: protocol.slice(0, -1),
    hostname: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    // Without either, amqplib connects as RabbitMQ's `guest`. A stray `%` stays as it is.
    ...(username || password
      ? { username: querystring.unescape(username), password: querystring.unescape(password) }
      : {}),
    vhost: pathname.slice(1),
    heartbeat: heartbeatSeconds,
    ...Object.fromEntries(given.map((name) => [name, Number(searchParams.get(name))])),
  };
}

/** The user name to connect with; without one, AMQP's `guest`. */
export function userOf(urls: string): string {
  return querystring.unescape(new URL(splitUrls(urls)[0] as string).username) || 'guest';
}

function shuffled<T>(items: T[]): T[] {
  const rest = [...items];
  return items.map(() => rest.splice(Math.floor(Math.random() * rest.length), 1)[0] as T);
}
