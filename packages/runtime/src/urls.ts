/** The URLs of one text, separated by commas. A comma within a password is part of it, unless a scheme follows. */
export function splitUrls(text: string): string[] {
  return text.split(/,\s*(?=[a-z][a-z0-9+.-]*:\/\/)/i).map((url) => url.trim());
}
