/** What operations need: opened by `main.ts`, passed down, never global. */
import type { KeyObject } from 'node:crypto';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Reads } from '@gatepost/webhook-db/reads';
import type { Replica } from './deliveries/replica.ts';
import type { EventCatalog } from './hooks/catalog.ts';
import type { Listeners } from './listeners/listeners.ts';
import type { Streams } from './streams/streams.ts';

export type Parts = {
  log: Log;
  /** What is asked often. */
  reads: Reads;
  /** What writes, takes locks, or carries much. */
  pool: Pool;
  /** Where the log of deliveries is read, if not from the primary. */
  replica: Replica | undefined;
  publisher: Publisher;
  /** Whose tokens are taken: the gate, under each of its names; and what they must be for. */
  issuers: string[];
  audience: string;
  /** Who listens at this process to hooks of command lines. */
  listeners: Listeners;
  /** Who watches deliveries of hooks at this process. */
  streams: Streams;
  /** How long a store may take for one thing. */
  storeTimeoutMs: number;
  /** The key of the delivery jobs’ authentication codes. */
  jobKey: KeyObject;
  /** The same, and the one that is taken beside it while SECRETS_KEY changes. */
  jobKeys: readonly KeyObject[];
  /** RabbitMQ, for what is not published: the dead letters are looked through. */
  amqpUrl: string;
  /** Its user, which messages of our own name. */
  amqpUser: string;
  /** Seals the secrets of hooks. */
  seal: Seal;
  catalog: EventCatalog;
  /** CIDRs that hooks may use although they are loopback. */
  allowedNetworks: string[];
  /** CIDRs that deliveries come from. */
  egressCidrs: string[];
  /** Deliveries per second, and burst, of an account without its own. */
  throttleDefaults: { rate: number; burst: number };
  /** How long an attempt may take. */
  deliveryTimeoutMs: number;
};
