import { isLoopback } from '../http/loopback.ts';

/**
 * The address where an application starts a login, or else its origin. Undefined for an application without a web address: a native one
 * listens on this machine only while it waits for a login.
 */
export function appAddress(client: {
  loginUri: string | null | undefined;
  callbacks: readonly string[];
  isNative: boolean;
}): string | undefined {
  const { loginUri, callbacks, isNative } = client;
  if (loginUri && isWebAddress(URL.parse(loginUri))) return loginUri;
  const isOpen = (url: URL) => !isNative || !isLoopback(url);
  const callback = callbacks.map((uri) => URL.parse(uri)).find((url) => isWebAddress(url) && isOpen(url));
  return callback ? `${callback.origin}/` : undefined;
}

const isWebAddress = (url: URL | null): url is URL => url?.protocol === 'https:' || url?.protocol === 'http:';
