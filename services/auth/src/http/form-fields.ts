/** What a form posted. */
import type { Request } from 'express';

/** A form's fields; a field given twice counts as none. */
export function fieldsOf(request: Request): Record<string, string | undefined> {
  const body = (request.body ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value : undefined]),
  );
}
