/** `/console/try`: where the gate sends the window of a tried sign-in. It passes the answer to the page that opened it, and closes. */
const channelName = 'gatepost console: tried sign-in';

export const answerUrl = new URL(`${import.meta.env.BASE_URL}try`, location.href).href;

/** Calls `hear` with the query of each answer; returns how to stop. */
export function answers(hear: (search: string) => void): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = ({ data }) => hear(String(data));
  return () => channel.close();
}

export function handOverAnswer(): void {
  new BroadcastChannel(channelName).postMessage(location.search);
  // A script can close a window that a script opened; visitors who came otherwise read this.
  document.getElementById('root')!.textContent = 'The result is in the console. You can close this window.';
  window.close();
}
