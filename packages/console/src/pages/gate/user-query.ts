/** Turns typed text into a query: plain words are searched everywhere; a text that names a field is used as it is. */
export function queryOf(typed: string): string {
  const text = typed.trim();
  if (text === '' || /^[\w.]+:|["()*]/.test(text)) return text;
  const escaped = text.replace(/[^\p{L}\p{N}@._-]/gu, '\\$&');
  // A query that begins with a wildcard needs at least three letters.
  const word = text.length < 3 ? `${escaped}*` : `*${escaped}*`;
  return ['name', 'email', 'nickname', 'username', 'phone_number', 'user_id']
    .map((field) => `${field}:${word}`)
    .join(' OR ');
}
