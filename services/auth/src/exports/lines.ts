/** A user of an export as a line of JSON, or of CSV (RFC 4180). */

/** A property (`user_metadata.plan` or `identities[0].connection` for a nested one), and its name in the file. */
export type Field = { name: string; export_as?: string | undefined };
/** `connection` null means all connections. */
export type ExportRequest = {
  connection: string | null;
  format: 'json' | 'csv';
  limit?: number | undefined;
  fields: Field[];
};

/** Auth0's default fields. */
export const usualFields: Field[] = [
  'user_id',
  'email',
  'email_verified',
  'name',
  'given_name',
  'family_name',
  'nickname',
  'picture',
  'username',
  'phone_number',
  'phone_verified',
  'created_at',
  'updated_at',
].map((name) => ({ name }));

export function jsonLine(user: object | undefined, fields: Field[]): string {
  const given = fields.map((field) => [field.export_as ?? field.name, propertyOf(user, field.name)]);
  return `${JSON.stringify(Object.fromEntries(given.filter(([, value]) => value !== undefined)))}\n`;
}

/** The header line if there is no user. */
export function csvLine(user: object | undefined, fields: Field[]): string {
  const cells = fields.map(({ name, export_as = name }) => cell(user ? propertyOf(user, name) : export_as));
  return `${cells.join(',')}\r\n`;
}

function propertyOf(user: object | undefined, name: string): unknown {
  return name
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? (value as Record<string, unknown>)[key]
          : undefined,
      user,
    );
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // A spreadsheet would treat it as a formula: https://owasp.org/www-community/attacks/CSV_Injection. A phone number is only a number there.
  const isFormula = typeof value === 'string' && /^[=+\-@\t\r\n]/.test(text) && !/^\+\d+$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
