import type { Place, Repository } from '../access/place.ts';
import { notFound } from '../http/errors.ts';

/** The repository of a place that is one. @throws ApiError 404 where it is an organization. */
export function repositoryOf({ repository }: Place): Repository {
  if (!repository) throw notFound();
  return repository;
}
