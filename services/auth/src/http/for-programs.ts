/**
 * Addresses that only programs ask. Their errors are JSON whatever the head prefers (RFC 6749 section 5.2): Java's HttpURLConnection sends
 * programs' requests with a browser's `Accept`.
 */
const addresses =
  /^\/(oauth\/|userinfo|oidc\/register|mfa\/|passwordless\/(start|verify|challenge)$|dbconnections\/|usernamepassword\/|openapi\.json|\.well-known\/)/i;

export const isForPrograms = ({ path }: { path: string }): boolean => addresses.test(path);
