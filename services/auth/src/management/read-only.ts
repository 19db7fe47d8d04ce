import { z } from 'zod';
import { isRecord } from '../is-record.ts';

/**
 * A body as tools send it back: read-only fields are dropped, and so is null where it would remove nothing.
 * Fields the shape does not know stay, to be refused.
 */
export function ignoringReadOnly<Shape extends z.ZodObject>(shape: Shape, readOnly: readonly string[]) {
  const isNoise = ([name, value]: [string, unknown]) =>
    readOnly.includes(name) ||
    (value === null && Object.hasOwn(shape.shape, name) && !shape.shape[name].safeParse(null).success);
  return z.preprocess(
    (body) => (isRecord(body) ? Object.fromEntries(Object.entries(body).filter((entry) => !isNoise(entry))) : body),
    shape,
  );
}
