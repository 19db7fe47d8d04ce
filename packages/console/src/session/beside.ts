/**
 * A sign-in beside the page, in a window of its own, so that what was typed on the page stays. The gate sends that window to the console's
 * address like any other; there it hands the answer to the page that asked, and closes.
 */
import { OidcClient, type OidcClientSettings } from 'oidc-client-ts';

const channelName = 'gatepost console: signed in beside';
/** At the end of `state`, behind its id. */
const mark = 'beside';

const stateOf = (search: string) => (new URLSearchParams(search).get('state') ?? '').split(';');

/** Whether a page with this query is such a window's. */
export const isBeside = (search: string): boolean => stateOf(search)[1] === mark;

export function handOverBeside(search: string): void {
  new BroadcastChannel(channelName).postMessage(search);
  // A window that a script has opened is closed by one; elsewhere it says what to do.
  document.getElementById('root')!.textContent = 'You are signed in again, and can close this window.';
  window.close();
}

let heard: BroadcastChannel | undefined;

/** Resolves with the query that the window came back with; never, where it is closed before. @throws when none is opened */
export async function signInBeside(settings: OidcClientSettings): Promise<string> {
  const { url, state } = await new OidcClient(settings).createSigninRequest({ url_state: mark });
  heard?.close();
  const channel = new BroadcastChannel(channelName);
  heard = channel;
  if (window.open(url, 'gatepost-sign-in', 'popup,width=480,height=720') === null)
    throw new Error('Your browser did not open a window. Allow windows for this page.');
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (stateOf(String(data))[0] !== state.id) return;
      channel.close();
      resolve(String(data));
    };
  });
}
