/** The signed-in user, with a currently valid token. */
import { isDeepStrictEqual } from 'node:util';
import type { Flags } from '../flags.ts';
import { Problem, usage } from '../problem.ts';
import { type Api, openApi } from './api.ts';
import { askToken, findEndpoints, findPlace, Refused, type Tokens } from './gate.ts';
import { withLock } from './lock.ts';
import { changeProfiles, lockFile, type Profile, readProfiles } from './profiles.ts';
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
export async function openSession(flags: Flags, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Session> {
  const given = await fromEnvironment(flags, env, signal);
  if (given) return given;
  const { name, profile } = chooseProfile(flags, env);
  checkTransport(profile.api, env);
  return makeSession(name, profile, (audience) => storedToken(name, profile, audience, env, signal), signal);
}

function makeSession(
  name: string,
  profile: Profile,
  tokenFor: (audience: string) => Promise<string>,
  signal: AbortSignal,
  again?: string,
): Session {
  const management = `${profile.issuer}api/v2/`;
  const token = () => tokenFor(profile.audience);
  return {
    name,
    profile,
    token,
    api: openApi(profile.api, token, signal, again),
    management() {
      if (profile.kind !== 'machine')
        throw new Problem(
          'notSignedIn',
          'the gate’s management API is for machines',
          'Sign in as one that was granted it: gatepost login --machine --client-id ID',
        );
      return openApi(management.slice(0, -1), () => tokenFor(management), signal);
    },
  };
}

async function fromEnvironment(
  flags: Flags,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const { GATEPOST_CLIENT_ID: clientId, GATEPOST_CLIENT_SECRET: clientSecret } = env;
  const token = env.GATEPOST_TOKEN?.trim();
  if (flags.text('profile') || !(token || (clientId && clientSecret))) return undefined;
  const api = flags.text('api') ?? env.GATEPOST_API;
  const which = token ? 'GATEPOST_TOKEN' : 'GATEPOST_CLIENT_SECRET';
  checkIsFor(which, flags, env);
  if (!api)
    throw usage(`${which} is for one API: GATEPOST_API says which`, 'GATEPOST_API=http://localhost:4500 gatepost …');
  checkTransport(api, env);
  const base = { name: which, store: 'file' as const, subject: clientId ?? '', clientId: clientId ?? '' };
  if (token) {
    const profile: Profile = { ...base, api: api.replace(/\/+$/, ''), issuer: '', audience: '', kind: 'token' };
    const again = 'GATEPOST_TOKEN is not good, or not any more: give a new one, or unset it and gatepost login';
    return makeSession(which, profile, async () => token, signal, again);
  }
  const place = await findPlace(api, { issuer: env.GATEPOST_ISSUER, audience: env.GATEPOST_AUDIENCE }, env, signal);
  const profile: Profile = { ...base, ...place, kind: 'machine' };
  const held = new Map<string, Promise<Tokens>>();
  const tokenFor = async (audience: string) => {
    const known = await held.get(audience);
    if (!known || known.expiresAt - Date.now() < marginMs) {
      const renewal = renew(profile, { clientSecret: clientSecret! }, audience, env, signal);
      renewal.catch(() => held.delete(audience)); // the next request tries again
      held.set(audience, renewal);
    }
    return (await held.get(audience)!).value;
  };
  return makeSession(which, profile, tokenFor, signal);
}

/** @throws Problem when `--api` is not the API of the environment: it would get a secret that belongs there. */
export function checkIsFor(secret: string, flags: Flags, env: NodeJS.ProcessEnv): void {
  const [asked, own] = [flags.text('api'), env.GATEPOST_API].map((url) => url?.replace(/\/+$/, ''));
  if (asked && own && asked !== own)
    throw usage(`${secret} is for ${own}, not for ${asked}`, `If it is for that one: GATEPOST_API=${asked}`);
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

async function storedToken(
  name: string,
  profile: Profile,
  audience: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const good = (secrets: Secrets) => {
    const token = secrets.tokens?.[audience];
    return token && (token.expiresAt - Date.now() > marginMs || profile.kind === 'token') ? token.value : undefined;
  };
  const now = good((await signedIn(name, profile, env)).secrets);
  if (now) return now;
  // A refresh token works only once: the second of two processes waits, and finds the token that the first one got. Whoever signs in or out
  // waits too, so that this brings back nothing that they have ended.
  return withLock(lockFile(env, name), signal, async () => {
    const { secrets, store } = await signedIn(name, profile, env);
    const meanwhile = good(secrets);
    if (meanwhile) return meanwhile;
    const { value, expiresAt, refreshToken } = await renew(profile, secrets, audience, env, signal);
    const tokens = { ...secrets.tokens, [audience]: { value, expiresAt } };
    const kept = { ...secrets, tokens, ...(refreshToken && { refreshToken }) };
    const storedIn = await keepSecrets(env, name, kept, store);
    // The keyring may have been locked meanwhile: the refresh token still in it is spent.
    if (storedIn !== store)
      await changeProfiles(env, ({ profiles, ...rest }) => ({
        ...rest,
        profiles: { ...profiles, [name]: { ...profile, store: storedIn } },
      }));
    return value;
  });
}

/**
 * The profile's secrets, and where they are now. @throws Problem when nobody is signed in there any more, or somebody else, or elsewhere: a
 * command that still runs must not use what belongs to another sign-in
 */
async function signedIn(
  name: string,
  profile: Profile,
  env: NodeJS.ProcessEnv,
): Promise<{ secrets: Secrets; store: Profile['store'] }> {
  const current = readProfiles(env).profiles[name];
  if (!current || !isDeepStrictEqual({ ...current, store: profile.store }, profile)) throw ended(profile);
  const secrets = await readSecrets(env, name, current);
  if (!secrets) throw ended(profile);
  return { secrets, store: current.store };
}

const ended = ({ api }: Profile) =>
  new Problem('notSignedIn', `the sign-in at ${api} has ended`, `gatepost login --api ${api}`);

async function renew(
  profile: Profile,
  { clientSecret: client_secret, refreshToken: refresh_token }: Pick<Secrets, 'clientSecret' | 'refreshToken'>,
  audience: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Tokens> {
  const again = ended(profile);
  const client_id = profile.clientId;
  const { token } = await findEndpoints(profile.issuer, env, signal);
  // Not interrupted: a refresh token is spent once it is sent.
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
