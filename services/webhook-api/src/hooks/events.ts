/** The `events` of a hook: names from the catalogue, without repetition, or `*` for all. */
import { validationFailed } from '../http/errors.ts';
import type { EventCatalog } from './catalog.ts';

/**
 * `names` without repetition; `*` swallows the rest. Names that the hook `held` before are kept even if the catalogue lost them.
 * @throws ApiError 422 with an item for each unknown name, at most ten.
 */
export function readEvents(names: string[], catalog: EventCatalog, held: string[] = []): string[] {
  const unknown = new Set(names.filter((name) => name !== '*' && !catalog.has(name) && !held.includes(name)));
  if (unknown.size > 0)
    throw validationFailed(
      ...[...unknown].slice(0, 10).map((name) => {
        const value = name.slice(0, 64).toWellFormed();
        return {
          resource: 'Hook',
          code: 'custom' as const,
          field: 'events',
          message: `${JSON.stringify(value)} is not a supported event. EVENT_CATALOG_FILE adds your own`,
          value,
        };
      }),
    );
  return names.includes('*') ? ['*'] : [...new Set(names)];
}
