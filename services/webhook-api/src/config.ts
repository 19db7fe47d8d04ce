/** The webhook API's environment; read nowhere else. */
import { deliveryTimeoutMs } from '@gatepost/contracts/stopping';
import { directUrlVariable, postgresUrl } from '@gatepost/runtime/postgres';
import { redisUrls } from '@gatepost/runtime/redis-url';
import { certificateVariables } from '@gatepost/runtime/tls';
import {
  cidrList,
  existingFile,
  existingFiles,
  httpUrl,
  integer,
  issuerUrl,
  issuerUrls,
  port,
  positive,
  text,
} from '@gatepost/runtime/values';
import {
  amqpUrlVariable,
  commonVariables,
  organizationAccountsVariable,
  otherSecretsKeyVariable,
  redisKeyPrefixVariable,
  renamedTo,
  secretsKeyVariable,
  stopDelayVariable,
  storeTimeoutVariable,
  trustedProxiesVariable,
} from '@gatepost/runtime/variables';
import { z } from 'zod';
import { readCatalog } from './hooks/catalog.ts';

const catalogFile = existingFile.superRefine((file, context) => {
  try {
    readCatalog(file);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message.split('\n')[0] });
  }
});

const each = z.object({
  ...commonVariables,
  STOP_DELAY_MS: stopDelayVariable,
  WEBHOOK_API_PORT: port.default(4500).meta({ description: 'port of the REST API' }),
  WEBHOOK_API_TLS_PORT: port.optional().meta({
    description: 'another port of the REST API, which serves TLS itself; none by default',
    shownDefault: 'off; 4543 under `npm start`',
  }),
  ...certificateVariables,
  WEBHOOK_API_URL: httpUrl
    .refine((value) => !/[?#]/.test(value) && !new URL(value).username && !new URL(value).password, {
      message: 'must have no user, query or fragment',
    })
    .optional()
    .meta({
      description: 'where clients reach the REST API; every URL in answers and pings begins with it',
      shownDefault: '`http://localhost:` + `WEBHOOK_API_PORT`, or https at the TLS port',
    }),
  WEBHOOK_API_OPS_PORT: port.default(4501).meta({ description: 'port of `/metrics`, `/livez` and `/readyz`' }),
  DATABASE_URL: postgresUrl
    .optional()
    .meta({ description: 'PostgreSQL; either this or `WEBHOOK_DATABASE_URL`', shownDefault: 'found or started' }),
  WEBHOOK_DATABASE_URL: postgresUrl
    .optional()
    .meta({ description: 'PostgreSQL of the post, used instead of `DATABASE_URL`' }),
  DATABASE_DIRECT_URL: directUrlVariable('DATABASE_URL'),
  WEBHOOK_DATABASE_DIRECT_URL: directUrlVariable('WEBHOOK_DATABASE_URL'),
  WEBHOOK_READ_DATABASE_URL: postgresUrl.optional().meta({
    description:
      'a streaming standby of that database, from which deliveries are listed and shown; behind PgBouncer only if the primary is. Each answer from it says how current it is: `X-Gatepost-As-Of`',
    shownDefault: 'none: the primary answers',
  }),
  WEBHOOK_READ_MAX_LAG_SECONDS: integer(1, 3_600)
    .default(10)
    .meta({ description: 'how far the standby may lag behind; beyond that, the primary answers', unit: 's' }),
  REDIS_URL: redisUrls.meta({
    description: 'Redis, for the rate limit; one server, Sentinels or a Cluster (docs/redis.md)',
    shownDefault: 'found or started',
  }),
  REDIS_KEY_PREFIX: redisKeyPrefixVariable,
  STORE_TIMEOUT_MS: storeTimeoutVariable.meta({
    description:
      'how long a PostgreSQL statement may take; connecting to it may take half as long, RabbitMQ’s confirm and a change’s wait for its turn three quarters. Then the answer is 503. A count in Redis may take a twelfth; then this process counts by itself',
  }),
  AMQP_URL: amqpUrlVariable,
  ISSUER: issuerUrl
    .default('http://localhost:4400/')
    .meta({ description: "issuer of the access tokens, written exactly as the gate's `ISSUER`" }),
  ISSUER_ALIASES: issuerUrls.default([]).meta({
    description:
      'more issuers whose tokens are accepted like those of `ISSUER`, with the same keys, separated by commas: `TLS_ISSUER` of the gate',
    shownDefault: 'none; the gate’s `TLS_ISSUER` under `npm start`',
  }),
  JWKS_URL: httpUrl.optional().meta({
    description: "where the issuer's keys are read, if not below `ISSUER`",
    shownDefault: '`ISSUER` + `.well-known/jwks.json`',
  }),
  WEBHOOK_API_AUDIENCE: text
    .default('http://localhost:4500/')
    .meta({ description: 'the `aud` that access tokens must have' }),
  ORGANIZATION_ACCOUNTS: organizationAccountsVariable,
  CONSOLE: z.enum(['on', 'off']).default('on').meta({ description: 'whether `/console/` is served' }),
  CONSOLE_CLIENT_ID: text
    .default('gatepost-console')
    .meta({ description: 'the application of the gate that the console signs people in with (docs/console.md)' }),
  SEED_FILE: existingFiles.default([]).meta({
    description:
      'YAML files with organizations and repositories, separated by commas, applied at each start; never deletes',
    shownDefault: 'none; the demo’s under `npm start`',
  }),
  SECRETS_KEY: secretsKeyVariable,
  SECRETS_KEY_OTHER: otherSecretsKeyVariable,
  DELIVERY_ALLOWED_NETWORKS: cidrList.default([]).meta({
    description: 'CIDRs exempt from the private-address guard',
    shownDefault: 'empty',
    emptyIsValue: true,
  }),
  DELIVERY_EGRESS_CIDRS: cidrList
    .default(['127.0.0.1/32'])
    .meta({ description: 'what `GET /meta` lists under `hooks`', shownDefault: '127.0.0.1/32' }),
  EVENT_CATALOG_FILE: catalogFile.optional().meta({
    description:
      "YAML or JSON file of event types beyond GitHub's and the gate's: names, or names with descriptions for `/docs`",
  }),
  THROTTLE_RATE: positive
    .default(100)
    .meta({ description: 'deliveries per second and account, unless set per account' }),
  THROTTLE_BURST: positive.default(1000).meta({ description: 'burst per account, unless set per account' }),
  DELIVERY_TIMEOUT_MS: integer(1, deliveryTimeoutMs.max).default(deliveryTimeoutMs.default).meta({
    description:
      'as for the dispatchers; the end of an attempt is estimated by it, and streams look for attempts that began so long ago',
    unit: 'ms',
  }),
  RATE_LIMIT_PER_HOUR: integer(0)
    .default(5000)
    .meta({ description: 'API requests per hour of one subject through one client; 0: no limit' }),
  RATE_LIMIT_CONCURRENT: integer(1)
    .default(100)
    .meta({ description: 'API requests of one subject through one client that may run at once in one process' }),
  LISTENERS_PER_CALLER: integer(1).default(100).meta({
    description: 'WebSockets of `cli` hooks that one subject through one client may hold open at once in one process',
  }),
  LISTENERS_MAX: integer(1)
    .default(1000)
    .meta({ description: 'WebSockets of `cli` hooks that may be open at once in one process' }),
  STREAMS_PER_CALLER: integer(1).default(100).meta({
    description: 'streams of deliveries that one subject through one client may hold open at once in one process',
  }),
  STREAMS_MAX: integer(1)
    .default(1000)
    .meta({ description: 'streams of deliveries that may be open at once in one process' }),
  TRUSTED_PROXIES: trustedProxiesVariable,
  TRUST_PROXY: renamedTo('TRUSTED_PROXIES'),
});

export type Env = z.infer<typeof each>;

export const variables = each.refine(
  (env) => env.WEBHOOK_DATABASE_URL !== undefined || env.DATABASE_URL !== undefined,
  {
    path: ['DATABASE_URL'],
    when: () => true, // even when other values are bad
  },
);
