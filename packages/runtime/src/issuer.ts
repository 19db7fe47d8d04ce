/** The issuer's name and address: some clients compare the name with one without a trailing slash (as go-oidc's users write it). */

/** The base for paths: the issuer with a trailing slash, whether or not its name has one. */
export function baseUrlOf(issuer: string): string {
  return issuer.endsWith('/') ? issuer : `${issuer}/`;
}
