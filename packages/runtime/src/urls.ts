/** Splits comma-separated URLs. A comma within a password belongs to it, unless a scheme follows. */
export function splitUrls(text: string): string[] {
  return text.split(/,\s*(?=[a-z][a-z0-9+.-]*:\/\/)/i).map((url) => url.trim());
}

/** A user name or password of a URL; a stray `%` in it stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
