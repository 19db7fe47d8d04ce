/** The signed-in user, with a currently valid token. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Flags } from '../command.ts';
import { Problem, usage } from '../problem.ts';
import { type Api, openApi } from './api.ts';
import { askToken, findEndpoints, findPlace, Refused, type Tokens } from './gate.ts';
import { withLock } from './lock.ts';
import { configFolder } from './private-file.ts';
import { type Profile, readProfiles, writeProfiles } from './profiles.ts';
import { checkTransport } from './request.ts';
import { keepSecrets, readSecrets, type Secrets } from './secrets.ts';

export type Session = {
  name: string;
  profile: Profile;
  /** The webhook API. */
  api: Api;
  /** The gate's management API; for machines only. */
  management(): Api;
  /** An access token for the webhook API. */
  token(): Promise<string>;
};

/** A token that expires sooner than this is renewed first. */
const marginMs = 30_000;

/**
 * In this order: `GATEPOST_TOKEN`, or `GATEPOST_CLIENT_ID` and `GATEPOST_CLIENT_SECRET`, with `GATEPOST_API`; else the profile named by
 * `--profile` or `--api`; else the one that signed in last.
 */
export async function openSession(flags: Flags, env: NodeJS.ProcessEnv): Promise<Session> {
  const given = await fromEnvironment(flags, env);
  if (given) return given;
  const { name, profile } = chooseProfile(flags, env);
  checkTransport(profile.api, env);
  return makeSession(name, profile, (audience) => storedToken(name, profile, audience, env));
}

function makeSession(
  name: string,
  profile: Profile,
  tokenFor: (audience: string) => Promise<string>,
  again?: string,
): Session {
  const management = `${profile.issuer}api/v2/`;
  const token = () => tokenFor(profile.audience);
  return {
    name,
    profile,
    token,
    api: openApi(profile.api, token, again),
    management() {
      if (profile.kind !== 'machine')
        throw new Problem(
          'notSignedIn',
          'the gate’s management API is for machines',
          'Sign in as one that was granted it: gatepost login --machine --client-id ID',
        );
      return openApi(management.slice(0, -1), () => tokenFor(management));
    },
  };
}

async function fromEnvironment(flags: Flags, env: NodeJS.ProcessEnv): Promise<Session | undefined> {
  const { GATEPOST_TOKEN: token, GATEPOST_CLIENT_ID: clientId, GATEPOST_CLIENT_SECRET: clientSecret } = env;
  if (flags.text('profile') || !(token || (clientId && clientSecret))) return undefined;
  const api = flags.text('api') ?? env.GATEPOST_API;
  const which = token ? 'GATEPOST_TOKEN' : 'GATEPOST_CLIENT_SECRET';
  if (!api)
    throw usage(`${which} is for one API: GATEPOST_API says which`, 'GATEPOST_API=http://localhost:4500 gatepost …');
  checkTransport(api, env);
  const base = { name: which, store: 'file' as const, subject: clientId ?? '', clientId: clientId ?? '' };
  if (token) {
    const profile: Profile = { ...base, api: api.replace(/\/+$/, ''), issuer: '', audience: '', kind: 'token' };
    const again = 'GATEPOST_TOKEN is not good, or not any more: give a new one, or unset it and gatepost login';
    return makeSession(which, profile, async () => token, again);
  }
  const place = await findPlace(api, { issuer: env.GATEPOST_ISSUER, audience: env.GATEPOST_AUDIENCE }, env);
  const profile: Profile = { ...base, ...place, kind: 'machine' };
  const held = new Map<string, Promise<Tokens>>();
  return makeSession(which, profile, async (audience) => {
    const known = await held.get(audience);
    if (!known || known.expiresAt - Date.now() < marginMs)
      held.set(audience, renew(profile, { clientSecret: clientSecret! }, audience, env));
    return (await held.get(audience)!).value;
  });
}

export function chooseProfile(flags: Flags, env: NodeJS.ProcessEnv): { name: string; profile: Profile } {
  const { current, profiles } = readProfiles(env);
  const api = (flags.text('api') ?? env.GATEPOST_API)?.replace(/\/+$/, '');
  const asked = flags.text('profile') ?? env.GATEPOST_PROFILE;
  const isForApi = (name: string) => api === undefined || profiles[name]?.api === api;
  const name = asked ?? [current ?? '', ...Object.keys(profiles)].find((each) => profiles[each] && isForApi(each));
  const profile = name === undefined ? undefined : profiles[name];
  if (name !== undefined && profile) {
    // A token goes only to the API that it was issued for.
    if (!isForApi(name)) throw usage(`the profile ${name} is for ${profile.api}, not for ${api}`);
    return { name, profile };
  }
  const where = asked ? `the profile ${asked}` : (api ?? 'any API');
  throw new Problem(
    'notSignedIn',
    `not signed in to ${where}`,
    `gatepost login${api || !asked ? ` --api ${api ?? 'URL'}` : ` --profile ${asked}`}`,
  );
}

async function storedToken(name: string, profile: Profile, audience: string, env: NodeJS.ProcessEnv): Promise<string> {
  const good = (secrets: Secrets) => {
    const token = secrets.tokens?.[audience];
    return token && (token.expiresAt - Date.now() > marginMs || profile.kind === 'token') ? token.value : undefined;
  };
  const now = good(await readSecrets(env, name, profile.store));
  if (now) return now;
  const lock = path.join(configFolder(env), `lock-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`);
  // A refresh token works only once: the second of two processes waits, and finds the token that the first one got.
  return withLock(lock, async () => {
    const secrets = await readSecrets(env, name, profile.store);
    const meanwhile = good(secrets);
    if (meanwhile) return meanwhile;
    const { value, expiresAt, refreshToken } = await renew(profile, secrets, audience, env);
    const tokens = { ...secrets.tokens, [audience]: { value, expiresAt } };
    const kept = { ...secrets, tokens, ...(refreshToken && { refreshToken }) };
    const store = await keepSecrets(env, name, kept, profile.store);
    // The keyring may have been locked meanwhile: the refresh token still in it is spent.
    if (store !== profile.store) {
      const { profiles, ...rest } = readProfiles(env);
      writeProfiles(env, { ...rest, profiles: { ...profiles, [name]: { ...profile, store } } });
    }
    return value;
  });
}

async function renew(profile: Profile, secrets: Secrets, audience: string, env: NodeJS.ProcessEnv): Promise<Tokens> {
  const { clientSecret: client_secret, refreshToken: refresh_token } = secrets;
  const again = new Problem(
    'notSignedIn',
    `the sign-in at ${profile.api} has ended`,
    `gatepost login --api ${profile.api}`,
  );
  const client_id = profile.clientId;
  const { token } = await findEndpoints(profile.issuer, env);
  try {
    if (client_secret)
      return await askToken(token, { grant_type: 'client_credentials', client_id, client_secret, audience });
    if (refresh_token) return await askToken(token, { grant_type: 'refresh_token', client_id, refresh_token });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.code === 'invalid_grant') throw again;
    throw new Problem(
      'notSignedIn',
      `no token for ${audience}: ${error.message}`,
      client_secret ? adviceTo(client_id, error.code) : again.next[0]!,
    );
  }
  throw again;
}

const adviceTo = (machine: string, code: string): string =>
  code === 'invalid_client'
    ? `Is that the machine ${machine}’s secret? An administrator of the gate gives it a new one.`
    : `Was the machine ${machine} granted that API? An administrator of the gate gives it a client grant.`;
