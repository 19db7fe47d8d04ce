/** An API with a hook of acme/widgets, which each test has made anew, and what is published for it. */
import { call, openApi } from './api.ts';
import { openJobs } from './jobs.ts';

export const hooks = '/repos/acme/widgets/hooks';

export async function openWithHook(...options: Parameters<typeof openApi>) {
  await using opening = new AsyncDisposableStack();
  const api = opening.use(await openApi(...options));
  const jobs = opening.use(await openJobs(api));
  const alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
  /** Drops what there is, and makes the hook: for pushes, with the secret `s`. Its first ping has been published. */
  async function newHook() {
    await api.sql.query('DELETE FROM hooks; DELETE FROM deliveries; DELETE FROM events');
    const { body } = await call(api, alice, 'POST', hooks, {
      config: { url: 'https://example.com/', secret: 's' },
      events: ['push'],
    });
    const hookId: number = body.id;
    await jobs.next(({ job }) => job.hookId === hookId);
    return { hookId, deliveries: `${hooks}/${hookId}/deliveries` };
  }
  const open = opening.move();
  return { api, jobs, alice, newHook, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
