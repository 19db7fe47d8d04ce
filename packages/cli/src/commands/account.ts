/** Signing in and out, and showing who is signed in. */

import type { Context, Run } from '../command.ts';
import { readSecret } from '../input.ts';
import { Problem, usage } from '../problem.ts';
import { openApi } from '../session/api.ts';
import {
  askDevice,
  askToken,
  type Endpoints,
  findEndpoints,
  findPlace,
  type Place,
  pollDevice,
  Refused,
  revoke,
  type Tokens,
} from '../session/gate.ts';
import { withLock } from '../session/lock.ts';
import { openConfigFolder } from '../session/private-file.ts';
import { changeProfiles, lockFile, type Profile, readProfiles } from '../session/profiles.ts';
import { forgetSecrets, keepSecrets, readSecrets, type Secrets } from '../session/secrets.ts';
import { checkIsFor, chooseProfile } from '../session/session.ts';
import { clean } from '../terminal.ts';

/** The scopes requested for a person; administrator rights are for machines only. */
const scopes = 'openid offline_access repo admin:repo_hook admin:org_hook admin:org read:org';
const ownClient = 'gatepost-cli';
const defaultApi = 'http://localhost:4500';

export const login: Run = async (context) => {
  const { flags, env, out, json, signal } = context;
  if (flags.is('machine') && env.GATEPOST_CLIENT_SECRET) checkIsFor('GATEPOST_CLIENT_SECRET', flags, env);
  const api = flags.text('api') ?? env.GATEPOST_API ?? defaultApi;
  const given = {
    issuer: flags.text('issuer') ?? env.GATEPOST_ISSUER,
    audience: flags.text('audience') ?? env.GATEPOST_AUDIENCE,
  };
  const place = await findPlace(api, given, env, signal);
  openConfigFolder(env);
  const signedIn = await signIn(context, place);
  const { name, profile } = await keep(context, place, signedIn).catch(async (error) => {
    // What nobody keeps must not stay valid. A signal of its own: the command may have been interrupted.
    await revokeAt(signedIn.secrets, { env, signal: AbortSignal.timeout(5_000) }).catch(() => {});
    throw error;
  });
  if (json) out.json({ profile: name, ...profile });
  else
    out.line(
      `${out.paint('green', 'Signed in')} to ${clean(place.api)} as ${clean(profile.subject)}; tokens are in ${storeNames[profile.store]}`,
    );
};

async function keep(
  context: Context,
  place: Place,
  { kind, clientId, secrets }: SignedIn,
): Promise<{ name: string; profile: Profile }> {
  const { flags, env, signal } = context;
  const token = secrets.tokens?.[place.audience]?.value ?? '';
  const { login: subject } = (await openApi(place.api, async () => token, signal).call('GET', '/user')) as {
    login: string;
  };
  const name = flags.text('profile') ?? env.GATEPOST_PROFILE ?? new URL(place.api).host;
  return withLock(lockFile(env, name), signal, async () => {
    await endSignIn(name, readProfiles(env).profiles[name], context).catch(() => {}); // it is replaced in any case
    signal.throwIfAborted();
    const store = await keepSecrets(env, name, secrets);
    const profile: Profile = { ...place, clientId, kind, subject, store };
    await changeProfiles(env, ({ profiles }) => ({ current: name, profiles: { ...profiles, [name]: profile } }));
    return { name, profile };
  });
}

const storeNames = { keyring: 'the system’s keyring', file: 'a file that only you can read' };

type SignedIn = { kind: Profile['kind']; clientId: string; secrets: Secrets };

async function signIn(context: Context, place: Place): Promise<SignedIn> {
  const { flags, env, signal } = context;
  const clientId = flags.text('client-id') ?? env.GATEPOST_CLIENT_ID;
  const hold = (clientId: string, { value, expiresAt }: Tokens): Secrets => ({
    issuer: place.issuer,
    clientId,
    tokens: { [place.audience]: { value, expiresAt } },
  });
  if (flags.is('with-token')) {
    const value = (await readSecret('-', 'the token')).trim();
    return { kind: 'token', clientId: '', secrets: hold('', { value, expiresAt: 0 }) };
  }
  const endpoints = await findEndpoints(place.issuer, env, signal);
  if (flags.is('machine')) {
    if (!clientId)
      throw usage('which machine?', '--client-id ID; its secret comes from GATEPOST_CLIENT_SECRET or standard input');
    const clientSecret = env.GATEPOST_CLIENT_SECRET ?? (await readSecret('-', 'the machine’s secret'));
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      audience: place.audience,
    };
    const tokens = await askToken(endpoints.token, form, signal).catch(
      refused('Is that its secret, and was it granted this API?'),
    );
    return { kind: 'machine', clientId, secrets: { ...hold(clientId, tokens), clientSecret } };
  }
  const application = clientId ?? ownClient;
  const tokens = await byDevice(context, place, endpoints, application);
  const { refreshToken } = tokens;
  return {
    kind: 'person',
    clientId: application,
    secrets: { ...hold(application, tokens), ...(refreshToken && { refreshToken }) },
  };
}

async function byDevice(
  { flags, out, signal }: Context,
  place: Place,
  endpoints: Endpoints,
  clientId: string,
): Promise<Tokens> {
  const wanted = flags.list('scopes');
  const scope = wanted.length > 0 ? ['openid', 'offline_access', ...wanted].join(' ') : scopes;
  const form = { client_id: clientId, scope, audience: place.audience };
  const device = await askDevice(endpoints.device, form, signal).catch(
    refused(
      `Does the gate know the application ${clientId}? Another one: --client-id ID (public, with the device grant).`,
    ),
  );
  out.note(
    `Open ${clean(device.verification_uri)} in a browser, on any device, and enter the code ${clean(device.user_code)}`,
  );
  if (device.verification_uri_complete) out.note(`or open ${clean(device.verification_uri_complete)}`);
  out.note('Waiting for you there …');
  return pollDevice(endpoints.token, clientId, device, signal).catch(refused('`gatepost login` begins anew.'));
}

const refused = (next: string) => (error: unknown) => {
  if (!(error instanceof Refused)) throw error;
  throw new Problem('notSignedIn', `the gate refused: ${error.message}`, next);
};

export const logout: Run = async (context) => {
  const { flags, env, out, json, signal } = context;
  const { name, profile } = chooseProfile(flags, env);
  const isRevoked = await withLock(lockFile(env, name), signal, async () => {
    const isTold = await endSignIn(name, readProfiles(env).profiles[name], context);
    await changeProfiles(env, ({ current, profiles: { [name]: _, ...others } }) => {
      const next = current === name ? Object.keys(others)[0] : current;
      return { ...(next !== undefined && { current: next }), profiles: others };
    });
    return isTold;
  });
  if (json) return out.json({ profile: name, revoked: isRevoked });
  out.line(`Signed out of ${clean(profile.api)}`);
  if (!isRevoked) out.note('The gate could not be told: the tokens are forgotten here and will expire.');
};

/**
 * Revokes and forgets. @returns whether the gate was told, where there is something to revoke
 * @throws Problem when the secrets are in a keyring that cannot be read or cleared
 */
async function endSignIn(
  name: string,
  profile: Profile | undefined,
  { env, signal }: Pick<Context, 'env' | 'signal'>,
): Promise<boolean> {
  if (!profile) return true;
  const secrets = await readSecrets(env, name, profile);
  const isTold = secrets !== undefined && (await revokeAt(secrets, { env, signal }));
  await forgetSecrets(env, name, profile.store);
  return isTold;
}

async function revokeAt(
  { issuer, clientId, refreshToken }: Secrets,
  { env, signal }: Pick<Context, 'env' | 'signal'>,
): Promise<boolean> {
  if (!refreshToken) return true;
  try {
    const { revocation } = await findEndpoints(issuer, env, signal);
    const form = { token: refreshToken, token_type_hint: 'refresh_token', client_id: clientId };
    await revoke(revocation, form, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return false; // an unreachable gate must not keep anybody signed in here
  }
}

export const whoami: Run = async ({ session, out, json }) => {
  const { name, profile, api } = await session();
  const { body, headers } = await api.ask('GET', '/user');
  const held = (headers.get('x-oauth-scopes') ?? '')
    .split(',')
    .map((scope) => scope.trim())
    .filter(Boolean);
  const who = {
    login: body.login,
    type: body.type,
    kind: profile.kind,
    scopes: held,
    profile: name,
    api: profile.api,
    issuer: profile.issuer,
  };
  if (json) return out.json(who);
  out.line(`${clean(String(body.login))} (${profile.kind}) at ${clean(profile.api)}`);
  out.line(`scopes   ${held.join(', ') || 'none'}`);
  out.line(`profile  ${clean(name)}${profile.issuer ? `, signed in by ${clean(profile.issuer)}` : ''}`);
};

export const listProfiles: Run = async ({ env, out, json }) => {
  const { current, profiles } = readProfiles(env);
  const rows = Object.entries(profiles).map(([name, profile]) => ({ name, current: name === current, ...profile }));
  if (json) return out.json(rows);
  out.table(
    ['', 'PROFILE', 'API', 'WHO', 'KIND'],
    rows.map((row) => [row.current ? '*' : '', row.name, row.api, row.subject, row.kind]),
  );
};

export const useProfile: Run = async ({ args, env, out, json }) => {
  const name = args.PROFILE!;
  const { profiles } = await changeProfiles(env, ({ profiles }) => {
    if (!profiles[name])
      throw new Problem('notSignedIn', `there is no profile ${name}`, '`gatepost profiles list` shows them.');
    return { current: name, profiles };
  });
  const { subject, api } = profiles[name]!;
  if (json) out.json({ current: name });
  else out.line(`From now on ${clean(name)}: ${clean(subject)} at ${clean(api)}`);
};
