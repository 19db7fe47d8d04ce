/** The gate as an OAuth client sees it: its location, and the tokens it issues. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';
import { checkTransport, parseJson, parseUrl, request } from './request.ts';

export type Place = { api: string; issuer: string; audience: string };
export type Endpoints = { token: string; device: string; revocation: string };
export type Tokens = { value: string; expiresAt: number; refreshToken?: string; scope?: string };

/**
 * Finds out who issues tokens for an API: the API says so (RFC 9728). The audience that it names must be at its own address: an API naming
 * another's would get tokens that are valid there. An audience elsewhere must be given by the user.
 */
export async function findPlace(
  api: string,
  given: { issuer?: string | undefined; audience?: string | undefined },
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Place> {
  checkTransport(api, env);
  const base = api.replace(/\/+$/, '');
  const { issuer, audience } =
    given.issuer && given.audience ? { issuer: given.issuer, audience: given.audience } : await ask();
  return { api: base, issuer: withSlash(issuer), audience };

  async function ask(): Promise<{ issuer: string; audience: string }> {
    const url = `${base}/.well-known/oauth-protected-resource`;
    const { status, text } = await request(url, { signal });
    checkIsBack(url, status);
    const hint = 'Name the gate and the API’s identifier: --issuer URL --audience IDENTIFIER';
    if (status !== 200) throw new Problem('failed', `${base} does not say which gate it trusts (${status})`, hint);
    const said = parseJson(text, url) as { resource?: string; authorization_servers?: string[] };
    const resource = given.audience ?? said.resource ?? '';
    const server = given.issuer ?? said.authorization_servers?.[0];
    if (!server) throw new Problem('failed', `${base} names no gate`, hint);
    if (!given.audience && (!URL.canParse(resource) || new URL(resource).origin !== parseUrl(base).origin))
      throw new Problem(
        'failed',
        `${base} wants tokens for ${resource}, which is another address: they would be good there too`,
        `If that is right: --audience '${resource}'`,
      );
    return { issuer: server, audience: resource };
  }
}

/** A gate may write its name without one (`ISSUER`); its addresses are below it either way. */
const withSlash = (issuer: string): string => `${issuer.replace(/\/+$/, '')}/`;

/** @throws Problem when the metadata names another issuer, or an endpoint elsewhere. */
export async function findEndpoints(issuer: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Endpoints> {
  checkTransport(issuer, env);
  const url = `${issuer}.well-known/openid-configuration`;
  const { status, text } = await request(url, { signal });
  checkIsBack(url, status);
  if (status !== 200) throw new Problem('failed', `${url} answers ${status}`, 'Is it the gate’s issuer?');
  const said = parseJson(text, url) as Record<string, string | undefined>;
  const at = (name: string) => {
    const endpoint = said[name];
    if (endpoint && new URL(endpoint).origin === new URL(issuer).origin) return endpoint;
    throw new Problem('failed', `${url} names no ${name} at its own address`);
  };
  if (withSlash(said.issuer ?? '') !== issuer)
    throw new Problem('failed', `${issuer} calls itself ${said.issuer}`, `Use --issuer '${said.issuer}'.`);
  return {
    token: at('token_endpoint'),
    device: at('device_authorization_endpoint'),
    revocation: at('revocation_endpoint'),
  };
}

type Form = Record<string, string>;

/** The answer to a refused token request. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string, description: string) {
    super(description || code);
    this.code = code;
  }
}

export async function askToken(endpoint: string, form: Form, signal?: AbortSignal): Promise<Tokens> {
  const answer = await post(endpoint, form, signal);
  const seconds = Number(answer.expires_in ?? 0);
  return {
    value: String(answer.access_token),
    expiresAt: Date.now() + seconds * 1000,
    ...(typeof answer.refresh_token === 'string' && { refreshToken: answer.refresh_token }),
    ...(typeof answer.scope === 'string' && { scope: answer.scope }),
  };
}

export type Device = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete?: string;
  expires_in: number;
  interval?: number;
};

export const askDevice = async (endpoint: string, form: Form, signal: AbortSignal): Promise<Device> =>
  (await post(endpoint, form, signal)) as Device;

/** Polls until the person has decided (RFC 8628 section 3.5). */
export async function pollDevice(
  endpoint: string,
  clientId: string,
  device: Device,
  signal: AbortSignal,
): Promise<Tokens> {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: clientId,
    device_code: device.device_code,
  };
  let seconds = device.interval ?? 5;
  for (const until = Date.now() + device.expires_in * 1000; Date.now() < until; ) {
    await sleep(seconds * 1000, undefined, { signal });
    try {
      return await askToken(endpoint, form, signal);
    } catch (error) {
      const code = error instanceof Refused ? error.code : undefined;
      if (code === 'slow_down') seconds += 5;
      else if (code === 'access_denied') throw new Problem('notSignedIn', 'the sign-in was declined in the browser');
      else if (code === 'expired_token') break;
      // No answer at all: that section says to continue, more slowly.
      else if (error instanceof Problem && error.exit === 'unreachable') seconds *= 2;
      else if (code !== 'authorization_pending') throw error;
    }
  }
  throw new Problem('notSignedIn', 'the code expired before it was entered', '`gatepost login` gives a new one.');
}

export async function revoke(endpoint: string, form: Form, signal: AbortSignal): Promise<void> {
  await post(endpoint, form, signal);
}

async function post(endpoint: string, form: Form, signal?: AbortSignal): Promise<Record<string, unknown>> {
  const body = new URLSearchParams(form);
  const { status, text } = await request(endpoint, { method: 'POST', body, ...(signal && { signal }) });
  checkIsBack(endpoint, status);
  const answer = (text === '' ? {} : parseJson(text, endpoint)) as Record<string, unknown>;
  if (status === 200) return answer;
  throw new Refused(String(answer.error ?? status), String(answer.error_description ?? ''));
}

/** Before the body is read: what answers meanwhile may be a proxy. @throws Problem when the server is away for a moment */
function checkIsBack(url: string, status: number): void {
  if (status >= 500 || status === 429)
    throw new Problem('unreachable', `${url} answers ${status}`, 'Try again in a moment.');
}
