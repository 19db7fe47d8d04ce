/** What operations need: opened by `start.ts`, passed down, never global. */
import type { KeyObject } from 'node:crypto';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Reads } from '@gatepost/webhook-db/reads';
import type { DeadLetters } from './dead-letters/dead-letters.ts';
import type { Replica } from './deliveries/replica.ts';
import type { EventCatalog } from './hooks/catalog.ts';
import type { Listeners } from './listeners/listeners.ts';
import type { Streams } from './streams/streams.ts';

export type Parts = {
  log: Log;
  /** For frequent queries. */
  reads: Reads;
  /** For statements that write, take locks, or carry much. */
  pool: Pool;
  /** Where the delivery log is read, if not from the primary. */
  replica: Replica | undefined;
  publisher: Publisher;
  deadLetters: DeadLetters;
  /** Whose tokens are accepted: the gate, under each of its names; and what they must be for. */
  issuers: string[];
  audience: string;
  /** Listeners at this process to command-line hooks. */
  listeners: Listeners;
  /** Streams of deliveries at this process. */
  streams: Streams;
  /** How long a store may take for one operation. */
  storeTimeoutMs: number;
  /** The key of the delivery jobs’ authentication codes. */
  jobKey: KeyObject;
  /** The same, plus the other key accepted while SECRETS_KEY changes. */
  jobKeys: readonly KeyObject[];
  /** RabbitMQ, for uses other than publishing: looking through its queues. */
  amqpUrl: string;
  /** The user name in that URL, which our own messages carry. */
  amqpUser: string;
  /** Seals the secrets of hooks. */
  seal: Seal;
  catalog: EventCatalog;
  /** CIDRs that hooks may use although they are loopback. */
  allowedNetworks: string[];
  /** CIDRs that deliveries come from. */
  egressCidrs: string[];
  /** Deliveries per second, and burst, for an account without limits of its own. */
  throttleDefaults: { rate: number; burst: number };
  /** How long an attempt may take. */
  deliveryTimeoutMs: number;
};
