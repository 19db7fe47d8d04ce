/** The REST API as a user's script would use it. */
import type { System } from './system.ts';

export type LoggedDelivery = {
  id: number;
  guid: string;
  status: string;
  status_code: number;
  event: string;
  redelivery: boolean;
  attempt: number;
  throttled_at: string | null;
};

export type Api = {
  /** Answers status and parsed body; never throws on an HTTP error. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  createHook(config: { url: string; secret?: string }, events?: string[], place?: string): Promise<number>;
  deliveries(hook: number, place?: string): Promise<LoggedDelivery[]>;
};

export async function openApi(system: System): Promise<Api> {
  const token = await system.token();
  const call: Api['call'] = async (method, path, body) => {
    const response = await fetch(system.apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'user-agent': 'gatepost-tests' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    call,
    async createHook(config, events = ['push'], place = 'repos/acme/widgets') {
      const answer = await call('POST', `/${place}/hooks`, {
        name: 'web',
        config: { content_type: 'json', ...config },
        events,
      });
      if (answer.status !== 201) throw new Error(`creating the hook: ${JSON.stringify(answer)}`);
      return (answer.body as { id: number }).id;
    },
    async deliveries(hook, place = 'repos/acme/widgets') {
      const all: LoggedDelivery[] = [];
      let cursor = '';
      for (;;) {
        const response = await fetch(`${system.apiUrl}/${place}/hooks/${hook}/deliveries?per_page=100${cursor}`, {
          headers: { authorization: `Bearer ${token}`, 'user-agent': 'gatepost-tests' },
        });
        all.push(...((await response.json()) as LoggedDelivery[]));
        const next = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '');
        if (!next) return all;
        cursor = `&cursor=${next[1]}`;
      }
    },
  };
}
