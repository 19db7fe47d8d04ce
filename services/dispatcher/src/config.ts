/** The dispatcher's environment (docs/configuration.md). */
import { createRequire } from 'node:module';
import { shardsMax } from '@gatepost/contracts/shards';
import { deliveryTimeoutMs } from '@gatepost/contracts/stopping';
import { directUrlVariable, postgresUrl } from '@gatepost/runtime/postgres';
import { redisUrls } from '@gatepost/runtime/redis-url';
import {
  certificatesFile,
  cidrList,
  existingFile,
  httpUrl,
  integer,
  port,
  positive,
  secondsList,
  text,
} from '@gatepost/runtime/values';
import {
  amqpUrlVariable,
  commonVariables,
  otherSecretsKeyVariable,
  redisKeyPrefixVariable,
  renamedTo,
  secretsKeyVariable,
} from '@gatepost/runtime/variables';
import { z } from 'zod';
import { roomWaitMaxMs } from './delivering/payloads.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

const retryWaitMaxSeconds = 30 * 86_400;

export const variables = z
  .object({
    ...commonVariables,
    DATABASE_URL: postgresUrl.optional().meta({ description: 'PostgreSQL', shownDefault: 'found or started' }),
    WEBHOOK_DATABASE_URL: postgresUrl
      .optional()
      .meta({ description: "PostgreSQL of the post, if it is not the gate's", shownDefault: '`DATABASE_URL`' }),
    DATABASE_DIRECT_URL: directUrlVariable('DATABASE_URL'),
    WEBHOOK_DATABASE_DIRECT_URL: directUrlVariable('WEBHOOK_DATABASE_URL'),
    AMQP_URL: amqpUrlVariable,
    REDIS_URL: redisUrls.meta({
      description:
        'Redis: rate state only; losing it loses nothing; one server, Sentinels or a Cluster (docs/redis.md)',
      shownDefault: 'found or started',
    }),
    REDIS_KEY_PREFIX: redisKeyPrefixVariable,
    DISPATCHER_OPS_PORT: port
      .default(4601)
      .meta({ description: 'port of `/metrics`, `/livez` and `/readyz`; 0: any free one' }),
    SECRETS_KEY: secretsKeyVariable,
    SECRETS_KEY_OTHER: otherSecretsKeyVariable,
    PRODUCERS_FILE: existingFile.optional().meta({
      description: "YAML list of AMQP users and the accounts they may publish events for, by their messages' `user_id`",
      shownDefault: 'none: whoever may write to the exchange may publish for all accounts',
    }),
    DELIVERY_TIMEOUT_MS: integer(1, deliveryTimeoutMs.max)
      .default(deliveryTimeoutMs.default)
      .meta({ description: 'from the start of an attempt to its response, connect included', unit: 'ms' }),
    DELIVERY_CONCURRENCY: integer(1, 4096)
      .default(256)
      .meta({ description: 'attempts in flight per dispatcher process', unit: 'attempts' }),
    DELIVERY_ALLOWED_NETWORKS: cidrList.default([]).meta({
      description: 'CIDRs exempt from the private-address guard, separated by commas',
      shownDefault: 'empty; `127.0.0.2/32` under `npm start`',
      emptyIsValue: true,
    }),
    DELIVERY_CA_FILE: certificatesFile
      .optional()
      .meta({ description: 'more PEM roots trusted for receivers', shownDefault: 'none' }),
    DELIVERY_PROXY_URL: httpUrl.optional().meta({
      description: 'HTTP proxy for deliveries, by CONNECT to addresses that were resolved and checked here',
      shownDefault: 'none',
      secret: true,
    }),
    DELIVERY_USER_AGENT: text
      .regex(/^[\x20-\x7e\x80-\xff]+$/, 'must be one line of Latin-1, as it is sent in a header')
      .default(`Gatepost-Hookshot/${version}`)
      .meta({ description: 'user agent of deliveries', shownDefault: '`Gatepost-Hookshot/<version>`' }),
    DELIVERY_RETENTION_DAYS: integer(1, 3650)
      .default(3)
      .meta({ description: 'how long log and payloads are kept; older partitions are dropped', unit: 'days' }),
    STATS_RETENTION_DAYS: integer(1, 3650)
      .default(90)
      .meta({ description: 'how long statistics per minute are kept; dropped by whole weeks', unit: 'days' }),
    EVENT_SHARDS: integer(1, shardsMax)
      .default(1)
      .meta({ description: 'queues that events are spread over, by account', unit: 'queues' }),
    DELIVERY_SHARDS: integer(1, shardsMax)
      .default(1)
      .meta({ description: 'queues that deliveries are spread over, by hook', unit: 'queues' }),
    RETRY_SCHEDULE_SECONDS: secondsList(retryWaitMaxSeconds).default([5, 300, 1800, 7200, 18000, 36000]).meta({
      description: 'waits before automatic attempts 2, 3, …, each at most 30 days',
      unit: 's',
      emptyIsValue: true,
    }),
    RESCUE_AFTER_SECONDS: integer(1, 86_400).default(600).meta({
      description:
        'how long a delivery may have no outcome before it counts as lost and is sent again; at least `DELIVERY_TIMEOUT_MS` plus 30 s, at most a day',
      unit: 's',
    }),
    SWEEP_AFTER_SECONDS: renamedTo('RESCUE_AFTER_SECONDS'),
    THROTTLE_RATE: positive
      .default(100)
      .meta({ description: 'deliveries per second and account, unless set for the account', unit: '1/s' }),
    THROTTLE_BURST: positive
      .default(1000)
      .meta({ description: 'deliveries at once per account, unless set for the account', unit: 'deliveries' }),
  })
  .refine((env) => env.WEBHOOK_DATABASE_URL !== undefined || env.DATABASE_URL !== undefined, {
    path: ['DATABASE_URL'],
    when: () => true, // even when other values are bad
  })
  .refine((env) => env.RESCUE_AFTER_SECONDS * 1000 >= env.DELIVERY_TIMEOUT_MS + roomWaitMaxMs, {
    path: ['RESCUE_AFTER_SECONDS'],
    message: `must be at least DELIVERY_TIMEOUT_MS plus ${roomWaitMaxMs / 1000} s: an attempt that still waits for room for its payload, or for its answer, would be made again`,
  });

export type Env = z.infer<typeof variables>;
