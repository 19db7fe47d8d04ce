/** Everything the gate reads from its environment. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { subjectForm } from '@gatepost/contracts/event';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { type DatabaseUrls, databaseUrlsOf, directUrlVariable, postgresUrl } from '@gatepost/runtime/postgres';
import { redisUrls } from '@gatepost/runtime/redis-url';
import { certificateVariables } from '@gatepost/runtime/tls';
import {
  cidrList,
  existingFiles,
  hostList,
  integer,
  issuerUrl,
  port,
  text,
  textList,
  url,
} from '@gatepost/runtime/values';
import {
  amqpUrlVariable,
  commonVariables,
  organizationAccountsVariable,
  otherSecretsKeyVariable,
  redisKeyPrefixVariable,
  secretsKeyVariable,
  stopDelayVariable,
  storeTimeoutVariable,
  trustedProxiesVariable,
} from '@gatepost/runtime/variables';
import { z } from 'zod';

/** Where messages go if no server is configured for them. */
export const outboxFolder = resolve(process.env.GATEPOST_HOME ?? '../../.gatepost', 'outbox');

const each = z.object({
  ...commonVariables,
  STOP_DELAY_MS: stopDelayVariable,
  DATABASE_URL: postgresUrl.optional().meta({ description: 'PostgreSQL of both sides' }),
  AUTH_DATABASE_URL: postgresUrl
    .optional()
    .meta({ description: 'PostgreSQL of the gate, instead of `DATABASE_URL`; it owns schema `auth`' }),
  DATABASE_DIRECT_URL: directUrlVariable('DATABASE_URL'),
  AUTH_DATABASE_DIRECT_URL: directUrlVariable('AUTH_DATABASE_URL'),
  MIGRATE_AT_START: z.enum(['on', 'off']).default('on').meta({
    description:
      'whether the gate brings its schema up to date when it starts; if `off`, run `node dist/migrations.js` first, perhaps with more rights: the gate refuses to start without it',
  }),
  REDIS_URL: redisUrls.meta({
    description:
      'Redis: sessions and short-lived artefacts of grants; one server, Sentinels or a Cluster (docs/redis.md)',
  }),
  REDIS_KEY_PREFIX: redisKeyPrefixVariable,
  STORE_TIMEOUT_MS: storeTimeoutVariable.meta({
    description:
      'how long a PostgreSQL statement may take; connecting to it and a Redis command may take half as long. Then the answer is 503',
  }),
  AMQP_URL: amqpUrlVariable.optional(),
  ISSUER: issuerUrl
    .refine((value) => new URL(value).pathname === '/', { message: 'must have no path but the slash' })
    .default('http://localhost:4400/')
    .meta({
      description:
        'issuer and base URL of the gate, compared literally: with a slash at its end as at Auth0, or without',
    }),
  AUTH_PORT: port.default(4400).meta({ description: 'port of the gate' }),
  AUTH_TLS_PORT: port.optional().meta({
    description:
      'another port of the gate, which serves TLS itself and has `TLS_ISSUER` as its issuer; none by default',
    shownDefault: 'off; 4443 under `npm start`',
  }),
  TLS_ISSUER: issuerUrl
    .refine((value) => /^https:/i.test(value) && new URL(value).pathname === '/', {
      message: 'must be an https URL with no path but the slash',
    })
    .optional()
    .meta({
      description: 'issuer and base URL of the gate at `AUTH_TLS_PORT`',
      shownDefault: '`https://localhost:` + `AUTH_TLS_PORT` + `/`',
    }),
  ...certificateVariables,
  AUTH_OPS_PORT: port.default(4401).meta({
    description: 'ops port of the gate: `/metrics`, `/livez`, `/readyz`; on a developer’s machine `/mailbox`',
  }),
  SEED_FILE: existingFiles.default([]).meta({
    description: 'YAML files with clients, users and APIs, separated by commas, applied at each start; never deletes',
    shownDefault: 'none; the demo’s under `npm start`',
  }),
  SECRETS_KEY: secretsKeyVariable,
  SECRETS_KEY_OTHER: otherSecretsKeyVariable,
  MAIL_URL: url(['smtp:', 'smtps:', 'file:'])
    .default(pathToFileURL(`${outboxFolder}/`).href)
    .meta({
      description:
        'where mail and text messages go: an SMTP URL, or a `file:` URL of an outbox folder, which keeps the last 1,000',
      shownDefault: 'the folder `.gatepost/outbox/`',
    }),
  MAIL_FROM: text
    .regex(/[^\s<>@]@[^\s<>@]/, 'must have an address, as in Acme <no-reply@acme.example>')
    .default('Gatepost <no-reply@localhost>')
    .meta({ description: 'sender of the mail' }),
  SMS_URL: url(['http:', 'https:']).optional().meta({
    description:
      'where text messages are posted: an HTTP provider’s URL, with its credentials (`https://AC…:token@api.twilio.com/2010-04-01/Accounts/AC…/Messages.json`); a private address only if `OUTBOUND_ALLOWED_NETWORKS` lists it',
    shownDefault: 'none; they are written to the outbox folder',
  }),
  SMS_FORMAT: z.enum(['twilio', 'json']).default('twilio').meta({
    description: 'what is posted there: the form that Twilio takes (`To`, `From`, `Body`), or JSON (`to`, `text`)',
  }),
  SMS_FROM: text.optional().meta({ description: 'the number or name that text messages come from, for Twilio’s form' }),
  EVENTS_ACCOUNT: text
    .regex(subjectForm, 'must be the name of an account, of letters, digits, `.`, `_` and `-`')
    .optional()
    .meta({ description: 'account under which the gate publishes its own events to RabbitMQ; off by default' }),
  ORGANIZATION_ACCOUNTS: organizationAccountsVariable,
  WEBHOOK_API_AUDIENCE: text.default('http://localhost:4500/').meta({
    description:
      'identifier of the webhook API at the gate; its permission `admin:org` makes an organization’s member an admin of the account. The same value as in the webhook API',
  }),
  GRANT_PLUGINS: textList
    .default([])
    .meta({ description: 'modules that add grant types: comma-separated package names or file paths' }),
  ACTIONS_DIR: text.refine(existsSync, { message: 'must name a folder that exists' }).optional().meta({
    description:
      'folder with actions as files: `TRIGGER/NAME.js`, and `NAME.secrets.json` for its secrets ([actions](reference/actions.md))',
  }),
  ACTIONS_PACKAGES: text.refine(existsSync, { message: 'must name a folder that exists' }).optional().meta({
    description:
      'folder with the `node_modules` of npm packages that actions may name as `dependencies`; you fill it, the gate installs nothing ([actions](reference/actions.md#npm-packages))',
  }),
  ACTIONS_ON_FAULT: z.enum(['closed', 'open']).default('closed').meta({
    description:
      'what happens to a request when an action fails: it is refused (`closed`), or goes on without the action (`open`)',
  }),
  ACTIONS_TIMEOUT_MS: integer(100, 20_000)
    .default(5_000)
    .meta({ description: 'time that one run of an action may take', unit: 'ms' }),
  ACTIONS_MEMORY_MB: integer(16, 1_024)
    .default(64)
    .meta({ description: 'heap of an action’s process; the process may have 128 MB more', unit: 'MB' }),
  ACTIONS_ALLOWED_HOSTS: hostList.default(['*']).meta({
    description:
      'hosts that actions may `fetch` from, separated by commas: `api.example.com`, `*.example.com`, or `*` for all at addresses that the gate itself may reach',
    shownDefault: '`*`',
    emptyIsValue: true,
  }),
  KEY_ROTATION_DAYS: integer(1, 3_650)
    .default(90)
    .meta({ description: 'age at which signing keys are replaced', unit: 'days' }),
  // Also limits a connection that has sent nothing yet: auth0-deploy-cli opens one and then keeps it silent for most of a minute.
  REQUEST_HEAD_TIMEOUT_MS: integer(100, 600_000)
    .default(60_000)
    .meta({ description: 'time for the head of a request to arrive; then 408', unit: 'ms' }),
  REQUEST_TIMEOUT_MS: integer(100, 600_000)
    .default(30_000)
    .meta({ description: 'time for a whole request to arrive; then 408', unit: 'ms' }),
  OUTBOUND_ALLOWED_NETWORKS: cidrList.default([]).meta({
    description:
      'CIDRs exempt from the private-address guard on the gate’s own requests to others (back-channel logout, `jwks_uri`, `SMS_URL`, providers of connections, `BREACHED_PASSWORDS`), separated by commas',
    shownDefault: 'empty; loopback under `npm start`',
    emptyIsValue: true,
  }),
  BREACHED_PASSWORDS: url(['file:', 'http:', 'https:']).optional().meta({
    description:
      'where breached passwords are looked up once `attack-protection/breached-password-detection` is on: a `file:` URL of a Pwned Passwords file ordered by hash, or the URL of a range service, to which the first five characters of a SHA-1 are added (`https://api.pwnedpasswords.com/range/`); a private address only if `OUTBOUND_ALLOWED_NETWORKS` lists it ([protection](reference/protection.md))',
    shownDefault: 'none; passwords are not looked up',
  }),
  TRUSTED_PROXIES: trustedProxiesVariable,
});

export type Env = z.infer<typeof each>;

const noDatabase = 'neither AUTH_DATABASE_URL nor DATABASE_URL is set';
const when = () => true; // even when other values are bad

export const variables = each
  .refine((env) => databaseOf(env) !== undefined, { message: noDatabase, when })
  .refine((env) => !env.EVENTS_ACCOUNT || env.AMQP_URL, {
    message: 'EVENTS_ACCOUNT is set, but AMQP_URL is not',
    when,
  })
  .refine((env) => env.ORGANIZATION_ACCOUNTS !== 'on' || env.AMQP_URL, {
    message: 'ORGANIZATION_ACCOUNTS is on, but AMQP_URL is not set',
    when,
  })
  .refine((env) => !env.SMS_URL || env.SMS_FORMAT !== 'twilio' || env.SMS_FROM !== undefined, {
    message: 'SMS_URL is set, but SMS_FROM is not, which the form of Twilio needs',
    when,
  });

/** The issuer at the TLS port; undefined without one. */
export function tlsIssuerOf({ AUTH_TLS_PORT, TLS_ISSUER }: Env): string | undefined {
  return AUTH_TLS_PORT === undefined ? undefined : (TLS_ISSUER ?? `https://localhost:${AUTH_TLS_PORT}/`);
}

type DatabaseVariables = Pick<
  Env,
  'AUTH_DATABASE_URL' | 'AUTH_DATABASE_DIRECT_URL' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL'
>;

const databaseOf = (env: DatabaseVariables) =>
  databaseUrlsOf(
    { url: env.AUTH_DATABASE_URL, directUrl: env.AUTH_DATABASE_DIRECT_URL },
    { url: env.DATABASE_URL, directUrl: env.DATABASE_DIRECT_URL },
  );

/** @throws Misconfigured when neither of the two database variables is set. */
export function authDatabaseOf(env: DatabaseVariables): DatabaseUrls {
  const urls = databaseOf(env);
  if (!urls) throw new Misconfigured('bad environment', [noDatabase]);
  return urls;
}
