import type { ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isMissingPart, reload, reloadOnce } from './missing-part.ts';
import { Problem } from './states.tsx';

/** Shown in place of a page that failed. */
export function PageProblem({ error, reset }: ErrorComponentProps) {
  const isMissing = isMissingPart(error);
  useEffect(() => (isMissing ? reloadOnce() : undefined), [isMissing]);
  return <Problem error={error} onRetry={isMissing ? reload : reset} isPage />;
}
