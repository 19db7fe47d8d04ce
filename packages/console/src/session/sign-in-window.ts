/**
 * A sign-in in a separate window, so that what was typed on the page stays. The gate sends that window to the console's address like any other;
 * there it passes the answer to the page that asked, and closes.
 */
import { OidcClient, type OidcClientSettings } from 'oidc-client-ts';

const channelName = 'gatepost console: signed in beside';
/** At the end of `state`, after its id. */
const mark = 'beside';

const stateOf = (search: string) => (new URLSearchParams(search).get('state') ?? '').split(';');

/** Whether a page with this query is such a window. */
export const isSignInWindow = (search: string): boolean => stateOf(search)[1] === mark;

export function handOverWindowAnswer(search: string): void {
  new BroadcastChannel(channelName).postMessage(search);
  // A script can close a window that a script opened; otherwise it says what to do.
  document.getElementById('root')!.textContent = 'You are signed in again. You can close this window.';
  window.close();
}

let heard: BroadcastChannel | undefined;

/** Resolves with the query that the window came back with; never, if it is closed before. @throws when none is opened */
export async function signInByWindow(settings: OidcClientSettings): Promise<string> {
  const { url, state } = await new OidcClient(settings).createSigninRequest({ url_state: mark });
  heard?.close();
  const channel = new BroadcastChannel(channelName);
  heard = channel;
  if (window.open(url, 'gatepost-sign-in', 'popup,width=480,height=720') === null)
    throw new Error('Your browser blocked the window. Allow pop-ups for this page.');
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (stateOf(String(data))[0] !== state.id) return;
      channel.close();
      resolve(String(data));
    };
  });
}
