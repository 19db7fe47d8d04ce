/** Requests to the webhook API, to the gate's management API, and to ops ports, with a token of the operator's machine. */
import { Trouble } from '../local/processes/trouble.ts';

/** Answers the parsed body, or what happened where there is none. @throws Trouble with what the API said. */
export type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

const timeoutMs = 30_000;

export function openCalls(env: NodeJS.Dict<string>): { post: Call; gate: Call; ops: (url: string) => Call } {
  const issuer = `${(env.ISSUER ?? 'http://localhost:4400/').replace(/\/*$/, '')}/`;
  const api = (env.WEBHOOK_API_URL ?? 'http://localhost:4500/').replace(/\/*$/, '');
  const audience = env.WEBHOOK_API_AUDIENCE ?? 'http://localhost:4500/';
  const credentials = {
    client_id: env.OPS_CLIENT_ID ?? 'demo-m2m',
    client_secret: env.OPS_CLIENT_SECRET ?? 'demo-m2m-secret',
  };
  const tokens = new Map<string, Promise<string>>();
  const tokenFor = (wanted: string) => {
    if (!tokens.has(wanted)) tokens.set(wanted, askToken(issuer, { ...credentials, audience: wanted }));
    return tokens.get(wanted)!;
  };
  const management = `${issuer}api/v2/`;
  return {
    post: async (...asked) => ask(api, env.OPS_ACCESS_TOKEN || (await tokenFor(audience)), ...asked),
    gate: async (...asked) => ask(management.slice(0, -1), await tokenFor(management), ...asked),
    ops:
      (url) =>
      (...asked) =>
        ask(url.replace(/\/*$/, ''), env.OPS_TOKEN || undefined, ...asked),
  };
}

async function ask(base: string, token: string | undefined, method: string, path: string, body?: unknown) {
  const response = await fetch(base + path, {
    method,
    headers: {
      'user-agent': 'gatepost-ops',
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error) => {
    throw new Trouble(`${base} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const answer = await response.text();
  if (!response.ok) throw new Trouble(`${method} ${path}: ${response.status}`, answer);
  return answer === '' ? 'done' : (JSON.parse(answer) as unknown);
}

async function askToken(issuer: string, machine: Record<string, string>): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...machine });
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    body,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error) => {
    throw new Trouble(`${issuer} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const { access_token: token, error_description: why } = (await response.json()) as Record<string, string>;
  if (!token) throw new Trouble(`no token for ${machine.audience}: ${why} (OPS_CLIENT_ID, OPS_CLIENT_SECRET)`);
  return token;
}
