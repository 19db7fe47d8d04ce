/** The issuer's name and its address: some clients compare the name with one that has no slash at its end (go-oidc's users write it so). */

/** What paths are appended to: the issuer, with a slash at its end whether its name has one or not. */
export function baseUrlOf(issuer: string): string {
  return issuer.endsWith('/') ? issuer : `${issuer}/`;
}
