import type { Place, Repository } from '../access/place.ts';
import { notFound } from '../http/errors.ts';

/** The place's repository. @throws ApiError 404 where the place is an organization. */
export function repositoryOf({ repository }: Place): Repository {
  if (!repository) throw notFound();
  return repository;
}
