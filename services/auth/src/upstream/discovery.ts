/**
 * What is known of the providers behind connections: their metadata, found or configured, and their keys. Metadata are kept for an
 * hour, or for a day while discovery fails; a failure is not retried for some seconds. So a login asks the provider at most twice: for
 * the tokens (while old keys are read anew) and for the person's profile.
 */
import type { Guard } from '@gatepost/runtime/address';
import type { Seal } from '@gatepost/runtime/seal';
import * as oidc from 'openid-client';
import type { ConnectionModel } from '../generated/models.ts';
import { isLoopback } from '../http/loopback.ts';
import { AnswerTooLarge, makeAnsweredFetch } from '../http/outside-fetch.ts';
import { appleSecret } from './apple.ts';
import { clientKey } from './client-key.ts';
import { allowsAnyDirectory, commonConfiguration, commonEndpointOf, isFormOfIssuer } from './directories.ts';
import { failureOf, UpstreamFailure } from './failure.ts';
import { directoryOf, type Options, openOptions } from './options.ts';
import { isUpstream, type Strategy, type StrategyDefinition, strategies } from './strategies.ts';

/** A provider, ready for requests. */
export type Remote = {
  /** Of its connection, as the name. */
  id: string;
  name: string;
  strategy: Strategy;
  definition: StrategyDefinition;
  options: Options;
  metadata: oidc.ServerMetadata;
  /** Its keys are at most five minutes old. */
  configuration(): Promise<oidc.Configuration>;
};

export type Remotes = {
  /** @throws UpstreamFailure */
  open(connection: ConnectionModel): Promise<Remote>;
};

/** For one request to a provider. */
const timeoutSeconds = 5;
const freshMs = 3_600_000;
const staleMs = 24 * freshMs;
const failedMs = 5_000;
const keysMs = 240_000;
const remotesMax = 1_000;

type Entry = { key: string; at: number; remote: Promise<Remote>; again?: Promise<void> | undefined };

export function makeRemotes({
  guard,
  seal,
  now = Date.now,
}: {
  guard: Guard;
  seal: Seal;
  now?: () => number;
}): Remotes {
  const ask = boundedFetch(makeAnsweredFetch(guard));
  const entries = new Map<string, Entry>();
  const load = (connection: ConnectionModel) => loadRemote(connection, { seal, ask, now });

  function begin(connection: ConnectionModel, key: string): Entry {
    const entry: Entry = { key, at: now(), remote: load(connection) };
    entries.delete(connection.id);
    entries.set(connection.id, entry);
    if (entries.size > remotesMax) entries.delete(entries.keys().next().value!);
    entry.remote.catch(() => {
      // Retried after a while, and not by every login that is waiting.
      entry.at = now() - staleMs + failedMs;
    });
    return entry;
  }

  return {
    async open(connection) {
      const key = JSON.stringify([connection.strategy, connection.options]);
      const known = entries.get(connection.id);
      const age = known ? now() - known.at : Number.POSITIVE_INFINITY;
      if (!known || known.key !== key || age >= staleMs) return begin(connection, key).remote;
      if (age < freshMs) return known.remote;
      const remote = await known.remote;
      known.again ??= load(connection)
        .then((found) => void entries.set(connection.id, { key, at: now(), remote: Promise.resolve(found) }))
        .catch(() => undefined) // the old entry is used, for up to a day
        .finally(() => setTimeout(() => delete known.again, failedMs).unref());
      return remote;
    },
  };
}

type DiscoveryParts = { seal: Seal; ask: typeof fetch; now: () => number };

async function loadRemote(connection: ConnectionModel, parts: DiscoveryParts): Promise<Remote> {
  const { id, strategy, name } = connection;
  if (!isUpstream(strategy)) throw new UpstreamFailure('misconfigured');
  let options: Options;
  try {
    options = openOptions(connection, parts.seal);
  } catch (cause) {
    throw new UpstreamFailure('misconfigured', { cause });
  }
  const definition = definitionOf(strategy, options);
  const metadata = configured(definition, options) ?? (await discover(strategy, definition, options, parts.ask));
  return {
    id,
    name,
    strategy,
    definition,
    options,
    metadata,
    configuration: makeConfigurations({ strategy, definition, options, metadata, ...parts }),
  };
}

/** Where anybody can create a directory or an account in it, a first sign-in is a sign-up. */
const definitionOf = (strategy: Strategy, options: Options): StrategyDefinition =>
  allowsAnyDirectory(strategy, options) ? { ...strategies[strategy], kind: 'social' } : strategies[strategy];

/** Metadata that need no discovery. */
function configured(definition: StrategyDefinition, options: Options): oidc.ServerMetadata | undefined {
  if (definition.protocol === 'oauth2') {
    const authorization = options.authorizationURL ?? definition.authorizationURL;
    const token_endpoint = options.tokenURL ?? definition.tokenURL;
    if (!authorization || !token_endpoint) throw new UpstreamFailure('misconfigured');
    // Without an issuer of its own, the provider is known by its authorization address.
    const isKnown = options.authorizationURL === undefined;
    const issuer = options.issuer ?? (isKnown ? definition.issuer : undefined) ?? new URL(authorization).origin;
    return { issuer, authorization_endpoint: authorization, token_endpoint };
  }
  const { issuer, authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint, end_session_endpoint } = options;
  if (options.discovery_url || !issuer || !authorization_endpoint || !token_endpoint || !jwks_uri) return undefined;
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    jwks_uri,
    ...(userinfo_endpoint && { userinfo_endpoint }),
    ...(end_session_endpoint && { end_session_endpoint }),
  };
}

const wellKnown = '/.well-known/openid-configuration';

async function discover(
  strategy: Strategy,
  definition: StrategyDefinition,
  options: Options,
  ask: typeof fetch,
): Promise<oidc.ServerMetadata> {
  const given =
    options.discovery_url ??
    options.issuer ??
    definition.discoveryUrl?.replace('{tenant}', commonEndpointOf(strategy, options) ?? directoryOf(options) ?? '');
  if (!given) throw new UpstreamFailure('misconfigured');
  // Auth0 accepts the address of the document, or the one it lies below.
  const base = given.replace(/\/?(?:\.well-known\/openid-configuration)?$/, '');
  try {
    const response = await ask(`${base}${wellKnown}`, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    if (response.status >= 500) throw new UpstreamFailure('out_of_order', { detail: `status ${response.status}` });
    const metadata = (await response.json()) as oidc.ServerMetadata;
    const isCommon = commonEndpointOf(strategy, options) !== undefined;
    checkMetadata(metadata, { strategy, base, isCommon, expected: options.issuer });
    return metadata;
  } catch (error) {
    const failure = failureOf(error);
    if (failure instanceof UpstreamFailure) throw failure;
    throw new UpstreamFailure('bad_metadata', { cause: error, detail: (error as Error).message });
  }
}

const addresses = [
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'userinfo_endpoint',
  'end_session_endpoint',
] as const;

/** Checks that the metadata name the issuer they were requested from (OpenID Connect Discovery 1.0, section 4.3), and nothing unsafe. */
function checkMetadata(
  metadata: oidc.ServerMetadata,
  {
    strategy,
    base,
    isCommon,
    expected,
  }: { strategy: Strategy; base: string; isCommon: boolean; expected: string | undefined },
): void {
  const { issuer } = metadata;
  if (typeof issuer !== 'string') throw new Error('there is no issuer in it');
  // A directory requested by one of its domains answers with its id, at the same address.
  const isDirectory = strategy === 'waad' && !issuer.includes('{') && new URL(issuer).origin === new URL(base).origin;
  const isFound = isCommon ? isFormOfIssuer(issuer, base) : withoutSlash(issuer) === base || isDirectory;
  const isIts = expected === undefined ? isFound : issuer === expected;
  if (!isIts) throw new Error(`it is of the issuer ${issuer.slice(0, 200)}`);
  for (const name of addresses) {
    const url = metadata[name] === undefined ? undefined : URL.parse(String(metadata[name]));
    if (url === undefined && !['authorization_endpoint', 'token_endpoint', 'jwks_uri'].includes(name)) continue;
    const isSafe = url?.protocol === 'https:' || (url && isLoopback(url) && isLoopback(new URL(base)));
    if (!isSafe) throw new Error(`its ${name} is no https URL`);
  }
}

const withoutSlash = (url: string) => url.replace(/\/$/, '');

/** Renewed every few minutes: the library itself would refresh old keys only while a login waits for them. */
function makeConfigurations({ ask, now, ...of }: DiscoveryParts & Described) {
  let current: { configuration: Promise<oidc.Configuration>; until: number } | undefined;
  return () => {
    if (!current || now() >= current.until)
      current = { configuration: makeConfiguration(of, ask), until: now() + keysMs };
    return current.configuration;
  };
}

type Described = Pick<Remote, 'strategy' | 'definition' | 'options' | 'metadata'>;

async function makeConfiguration(
  { strategy, definition, options, metadata }: Described,
  ask: typeof fetch,
): Promise<oidc.Configuration> {
  const authentication = authenticationOf(definition, options, metadata);
  const configuration = commonEndpointOf(strategy, options)
    ? await commonConfiguration(metadata, options.client_id, authentication)
    : new oidc.Configuration(metadata, options.client_id, {}, authentication);
  configuration.timeout = timeoutSeconds;
  if (isLoopback(new URL(String(metadata.token_endpoint)))) oidc.allowInsecureRequests(configuration);
  if (definition.protocol === 'oidc') oidc.enableNonRepudiationChecks(configuration);
  let keys: Promise<void> | undefined;
  const readKeys = async (address: string) => {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    const response = await ask(address, { headers: { accept: 'application/json' }, signal });
    const jwks = (await response.json()) as { keys: oidc.JWK[] };
    if (response.status === 200 && Array.isArray(jwks?.keys))
      oidc.setJwksCache(configuration, { jwks, uat: Math.floor(Date.now() / 1000) });
  };
  configuration[oidc.customFetch] = (async (url: string, init: RequestInit) => {
    if (url !== metadata.token_endpoint) return ask(url, init);
    // The library meets this failure again, and then fetches the keys itself.
    if (definition.protocol === 'oidc') keys ??= readKeys(String(metadata.jwks_uri)).catch(() => undefined);
    const [answer] = await Promise.all([ask(url, init), keys]);
    return definition.protocol === 'oauth2' ? asError(answer) : answer;
  }) as oidc.CustomFetch;
  return configuration;
}

function authenticationOf(
  definition: StrategyDefinition,
  options: Options,
  metadata: oidc.ServerMetadata,
): oidc.ClientAuth {
  const { client_secret: secret, token_endpoint_auth_method: method, team_id, kid, app_secret } = options;
  if (team_id && kid && app_secret) return appleSecret({ team_id, kid, app_secret });
  if (method === 'private_key_jwt')
    return clientKey(options, { tokenEndpointAsAudience: definition.unprovenEmail === true });
  if (!secret) return oidc.None();
  const { token_endpoint_auth_methods_supported: supported } = metadata;
  const posts = method ? method === 'client_secret_post' : (supported?.includes('client_secret_post') ?? true);
  return posts ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret);
}

/** GitHub reports errors with status 200. */
async function asError(answer: Response): Promise<Response> {
  if (answer.status !== 200) return answer;
  const body = await answer.text();
  const { headers } = answer;
  let isError = false;
  try {
    const said = JSON.parse(body) as { error?: unknown } | null;
    isError = typeof said?.error === 'string';
  } catch {
    // not JSON: the library reports it
  }
  return new Response(body, { status: isError ? 400 : 200, headers });
}

function boundedFetch(ask: typeof fetch): typeof fetch {
  return async (url, init) => {
    try {
      return await ask(url, init);
    } catch (error) {
      throw error instanceof AnswerTooLarge ? new UpstreamFailure('too_large', { cause: error }) : error;
    }
  };
}
