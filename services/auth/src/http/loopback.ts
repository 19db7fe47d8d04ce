/** Loopback addresses: requests to them do not cross a network. */

/** A plain http address of this machine; 127.0.0.0/8 is loopback (RFC 1122), and `localhost` always means it (RFC 6761). */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && (hostname === 'localhost' || /^127(\.\d+){3}$/.test(hostname) || hostname === '[::1]');
}

/** Whether a request to this address crosses a network in the clear. */
export function isInTheClear(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isLoopback(url);
}
