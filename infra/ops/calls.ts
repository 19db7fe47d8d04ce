/** Requests to the webhook API, to the gate's management API, and to ops ports, with a token of the operator's machine. */
import { Trouble } from '../local/processes/trouble.ts';

/** Answers the parsed body, or what happened where there is none. @throws Trouble with what the API said. */
export type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

const timeoutMs = 30_000;
/** How much of a list is shown: no more than a person reads. */
const shownMax = 1_000;

export function openCalls(env: NodeJS.Dict<string>): { post: Call; gate: Call; ops: (url: string) => Call } {
  const issuer = `${(env.ISSUER ?? 'http://localhost:4400/').replace(/\/*$/, '')}/`;
  const api = (env.WEBHOOK_API_URL ?? 'http://localhost:4500/').replace(/\/*$/, '');
  const audience = env.WEBHOOK_API_AUDIENCE ?? 'http://localhost:4500/';
  const credentials = {
    client_id: env.OPS_CLIENT_ID ?? 'demo-m2m',
    client_secret: env.OPS_CLIENT_SECRET ?? 'demo-m2m-secret',
  };
  const tokens = new Map<string, Promise<string>>();
  const tokenFor = (wanted: string, scope: string) => {
    if (!tokens.has(wanted)) tokens.set(wanted, askToken(issuer, { ...credentials, audience: wanted }, scope));
    return tokens.get(wanted)!;
  };
  const management = `${issuer}api/v2/`;
  return {
    post: async (...asked) => ask(api, env.OPS_ACCESS_TOKEN || (await tokenFor(audience, 'site_admin')), ...asked),
    gate: async (...asked) =>
      ask(management.slice(0, -1), await tokenFor(management, 'update:encryption_keys'), ...asked),
    ops:
      (url) =>
      (...asked) =>
        ask(url.replace(/\/*$/, ''), env.OPS_TOKEN || undefined, ...asked),
  };
}

async function ask(base: string, token: string | undefined, method: string, path: string, body?: unknown) {
  const { answer, next } = await askPage(base, token, method, path, body);
  if (next === undefined || !Array.isArray(answer)) return answer;
  const all = [...answer];
  for (let more = next as string | undefined; more !== undefined; ) {
    if (all.length >= shownMax) {
      process.stderr.write(`there are more: these are the first ${all.length}\n`);
      break;
    }
    // The link names the API as it calls itself, which need not be how it is reached from here.
    const page = await askPage(base, token, method, path.replace(/\?.*/, '') + new URL(more).search);
    all.push(...(page.answer as unknown[]));
    more = page.next;
  }
  return all;
}

async function askPage(base: string, token: string | undefined, method: string, path: string, body?: unknown) {
  const { response, text } = await send(base, base + path, {
    method,
    headers: {
      'user-agent': 'gatepost-ops',
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    const why = 'Either there is no such thing, or this machine may not see it: most commands need `site_admin`.';
    throw new Trouble(
      `${method} ${path}: ${response.status}`,
      text.trimEnd(),
      ...(response.status === 404 ? [why] : []),
    );
  }
  const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return { answer: text === '' ? 'done' : parse(text, base), next };
}

async function askToken(issuer: string, machine: Record<string, string>, scope: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...machine });
  const { response, text } = await send(issuer, `${issuer}oauth/token`, { method: 'POST', body });
  const { access_token: token, error_description: why = `${issuer}oauth/token answers ${response.status}` } = parse(
    text,
    issuer,
  ) as Record<string, string>;
  if (token) return token;
  throw new Trouble(
    `no token for ${machine.audience}: ${why}`,
    `OPS_CLIENT_ID and OPS_CLIENT_SECRET name a machine with a client grant for ${machine.audience} with the scope ${scope}.`,
  );
}

async function send(base: string, url: string, request: RequestInit): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) });
    return { response, text: await response.text() };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    throw new Trouble(`${base} does not answer: ${cause?.message || message}`);
  }
}

function parse(text: string, base: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Trouble(`${base} answers something else than JSON: is it what it should be?`, text.slice(0, 200));
  }
}
