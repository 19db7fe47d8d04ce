/** What was typed, as a query: plain words are looked for everywhere, what has a field is taken as it stands. */
export function queryOf(typed: string): string {
  const text = typed.trim();
  if (text === '' || /^[\w.]+:|["()*]/.test(text)) return text;
  const escaped = text.replace(/[^\p{L}\p{N}@._-]/gu, '\\$&');
  // What begins with a wildcard needs three letters at least.
  const word = text.length < 3 ? `${escaped}*` : `*${escaped}*`;
  return ['name', 'email', 'nickname', 'username', 'phone_number', 'user_id']
    .map((field) => `${field}:${word}`)
    .join(' OR ');
}
