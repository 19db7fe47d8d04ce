import type { QueryClient } from '@tanstack/react-query';
import type { Hook } from '../api/types.ts';

/** Shows a hook as returned by a change, whose answer lacks its health. */
export const cacheHook = (queries: QueryClient, path: string, changed: Omit<Hook, 'health'>): void =>
  void queries.setQueryData<Hook>(['hook', path], (before) => before && { ...before, ...changed });
