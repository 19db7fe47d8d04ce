/** A gate at which people sign in with two other providers; a test says what each of them answers. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { serveOidc } from '../false-provider.ts';
import { type Form, openOurs, request } from '../upstream.ts';

/** The options of a connection. */
export const at = (issuer: string, more: object = {}) => ({
  client_id: 'ours',
  client_secret: 'our-secret',
  discovery_url: issuer,
  ...more,
});

/** @param connections by the issuers of the two */
export async function openTwoProviders(connections: (evil: string, honest: string) => object[]) {
  await using opening = new AsyncDisposableStack();
  const evil = opening.use(await serveOidc());
  const honest = opening.use(await serveOidc());
  const gate = opening.use(await openOurs(() => connections(evil.issuer, honest.issuer)));

  /** A sign-in that has left for the provider. */
  async function leave(connection: string, provider = evil, browser = new Browser(gate), more: Form = {}) {
    const asked = request({ connection, ...more });
    const { code_verifier: _, ...params } = asked;
    const page = await browser.authorize(params as Form);
    const left = page.location!;
    provider.state.nonce = left.searchParams.get('nonce') ?? '';
    const state = left.searchParams.get('state') ?? '';
    const answer = (given: Form = {}, by = browser): Promise<Page> =>
      by.get(`${left.searchParams.get('redirect_uri')}?${new URLSearchParams({ code: 'c', state, ...given })}`);
    return { asked, browser, left, state, answer };
  }

  const open = opening.move();
  return { evil, honest, gate, leave, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

export const errorOf = (page: Page) => page.location?.searchParams.get('error');
export const adviceOf = (page: Page) => page.location?.searchParams.get('error_description');
