/** Placeholders: loading, empty, failed. */
import { type ReactNode, useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import { Unreachable } from '../session/errors.ts';
import { isMissingPart } from './missing-part.ts';

/** Shown only after a moment, so that fast answers do not flicker. */
export function Loading({ what }: { what: string }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="state" role="status">
      {isLate ? `Loading ${what} …` : ''}
    </p>
  );
}

/** `isPage`: there is nothing else on the page. */
export function Empty({ title, children, isPage }: { title: string; children?: ReactNode; isPage?: boolean }) {
  return (
    <div className="state">
      <Title isPage={isPage}>{title}</Title>
      {children}
    </div>
  );
}

export function Problem({ error, onRetry, isPage }: { error: unknown; onRetry?: () => void; isPage?: boolean }) {
  const { title, text, details } = explain(error);
  return (
    <div className="state problem" role="alert">
      <Title isPage={isPage}>{title}</Title>
      <p>{text}</p>
      {details && (
        <details>
          <summary>Which</summary>
          <p>{details}</p>
        </details>
      )}
      {onRetry && (
        <Button className="button" onPress={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Whether an error replaces the data: older data stays, and the note above all pages says that nobody answers. */
export const isInTheWay = (error: unknown, data: unknown): boolean =>
  Boolean(error) && (data === undefined || (error instanceof ApiProblem && !isAway(error)));

/** There is no answer, or none for now. */
export const isAway = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiProblem && (error.status >= 500 || error.status === 429));

/** In words. */
export const titleOf = (error: unknown): string => explain(error).title;

/** What it means and what to do, in words. */
export const textOf = (error: unknown): string => explain(error).text;

function Title({ isPage = false, children }: { isPage: boolean | undefined; children: string }) {
  return isPage ? <h1 className="state-title">{children}</h1> : <p className="state-title">{children}</p>;
}

function explain(error: unknown): { title: string; text: string; details?: string } {
  if (error instanceof Unreachable)
    return {
      title: error.message.replace(/\.$/, ''),
      text: 'It may be restarting, or you may be offline. Saved data is not lost.',
    };
  if (error instanceof ApiProblem && error.status === 404 && error.code !== 'feature_not_available')
    return {
      title: 'Not found',
      text: 'It was deleted, the address is wrong, or you do not have access.',
    };
  if (error instanceof ApiProblem && isAway(error))
    return {
      title:
        error.status === 429
          ? 'Too many requests'
          : error.status === 503
            ? 'Temporarily unavailable'
            : 'Something failed on the server',
      text: `${error.message.replace(/[^.]$/, '$&.')} Try again${error.retryAfter ? ` in ${error.retryAfter} s` : ' soon'}.`,
    };
  if (error instanceof ApiProblem && error.code === 'insufficient_scope')
    return {
      title: 'Not permitted',
      text: 'This takes permissions that you, or the console, do not have. A role is given only by those who have all of its permissions.',
      details: error.message,
    };
  if (error instanceof ApiProblem) {
    const fields = error.fields
      .map(({ field, message }) => (message === error.message ? field : [field, message].filter(Boolean).join(': ')))
      .join('; ');
    return { title: 'The API refused the request', text: fields ? `${error.message} (${fields})` : error.message };
  }
  if (error instanceof Error && isMissingPart(error))
    return { title: 'This part of the console could not be loaded', text: error.message };
  return { title: 'Something went wrong', text: error instanceof Error ? error.message : String(error) };
}
