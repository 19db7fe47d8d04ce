/** What somebody typed to say who they are. */

export type Identifier = { kind: 'email' | 'phone' | 'username'; value: string };

/** The identifier in the form we keep it: an address in lower case, a number in E.164. Undefined for what is none. */
export function parseIdentifier(typed: unknown): Identifier | undefined {
  if (typeof typed !== 'string') return undefined;
  const text = typed.trim();
  if (text.length === 0 || text.length > 320 || /[\p{Cc}\p{Cs}]/u.test(text)) return undefined;
  if (isEmail(text)) return { kind: 'email', value: text.toLowerCase() };
  const digits = text.replace(/[\s().-]/g, '');
  if (/^\+[1-9]\d{6,14}$/.test(digits)) return { kind: 'phone', value: digits };
  if (/^[^\s@]{1,128}$/.test(text)) return { kind: 'username', value: text };
  return undefined;
}

/** Close enough to tell an address from a typing mistake; whether it exists only mail can tell. */
export function isEmail(text: string): boolean {
  return text.length <= 320 && /^[^\s@<>"(),;:\\[\]]+@[^\s@.<>"(),;:\\[\]]+(?:\.[^\s@.<>"(),;:\\[\]]+)*$/.test(text);
}
