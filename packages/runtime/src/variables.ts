/** Variables that several of our processes read. */
import { z } from 'zod';
import { logLevels } from './log.ts';
import { host, httpUrl, integer, key32, networkList, text, urls } from './values.ts';

export const commonVariables = {
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development').meta({
    description:
      'in `production`, as in the images, a service refuses to start with the demo’s seed or its secrets, an http issuer that is not loopback, or, unless `HOST` is loopback, a store’s default password',
  }),
  HOST: host.default('127.0.0.1').meta({ description: 'address that listeners bind to; `0.0.0.0` in the images' }),
  LOG_LEVEL: z.enum(logLevels).default('info').meta({
    description: 'lowest level that is logged; `PUT /log-level` on the ops port changes it while the service runs',
  }),
  OPS_TOKEN: text.min(16).optional().meta({
    description:
      'the `Authorization: Bearer` token for the ops port’s routes that tell more than metrics or change something; without one, they answer only this machine',
    secret: true,
    shownDefault: 'none',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().meta({
    description: 'where traces go, by OTLP over HTTP; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are read too',
    shownDefault: 'none: no traces',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: text.optional().meta({
    description: 'headers sent along with traces, such as `authorization=Bearer%20…`; several separated by commas',
    secret: true,
    shownDefault: 'none',
  }),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .meta({ description: 'which traces are recorded' }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .meta({ description: 'the share of traces that the two samplers by ratio record' }),
  START_TIMEOUT_MS: integer(0, 600_000)
    .default(60_000)
    .meta({ description: 'how long a service waits at its start for a store that is unreachable', unit: 'ms' }),
};

export const stopDelayVariable = integer(0, 60_000).default(0).meta({
  description:
    'how long a service that was told to stop goes on serving while `/readyz` says that it is not ready, so that load balancers have time to leave it',
  unit: 'ms',
});

export const storeTimeoutVariable = integer(100, 60_000).default(4_000).meta({ unit: 'ms' });

export const secretsKeyVariable = key32.meta({
  description: '32 bytes base64: encrypts webhook secrets and signing keys at rest',
  secret: true,
  shownDefault: 'generated under `.gatepost/` by `npm start`, required otherwise',
});

export const otherSecretsKeyVariable = key32.optional().meta({
  description:
    'a second such key, which opens but does not seal, for changing SECRETS_KEY without an interruption (docs/operations.md)',
  secret: true,
  shownDefault: 'none',
});

export const amqpUrlVariable = urls(['amqp:', 'amqps:']).meta({
  description:
    'RabbitMQ (the gate needs it only with `EVENTS_ACCOUNT` or `ORGANIZATION_ACCOUNTS=on`); the nodes of a cluster are separated by commas and tried in random order. `?cacertfile=`, `?certfile=` and `?keyfile=` name PEM files for `amqps`',
  shownDefault: 'found or started',
});

export const redisKeyPrefixVariable = text.default('gatepost:').meta({ description: 'prefix of all our Redis keys' });

export const organizationAccountsVariable = z.enum(['on', 'off']).default('off').meta({
  description:
    'whether an organization of the gate with `gatepost_account: "true"` in its metadata is an account of the webhook API, with its members; set it in both services ([organizations](reference/organization-accounts.md))',
});

export const trustedProxiesVariable = networkList.default([]).meta({
  description:
    'reverse proxies whose `X-Forwarded-*` are trusted, and nobody else’s: CIDRs or addresses, separated by commas (`loopback`, `linklocal`, `uniquelocal` too)',
});

/** A renamed variable. Setting it is refused, since whoever does so relies on it. */
export const renamedTo = (name: string) => z.undefined(`is called ${name} now`).optional().meta({ isGone: true });
