/** Newly created secrets, until the page is left: the gate keeps only hashes, and quick starts are filled in with them. */
const known = new Map<string, string>();

export const rememberSecret = (clientId: string, secret: string | undefined): void => {
  if (secret !== undefined) known.set(clientId, secret);
};
export const secretOf = (clientId: string): string | undefined => known.get(clientId);
