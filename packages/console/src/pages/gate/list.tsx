/** A list within a page: loading, empty, failed, or with rows. */
import type { ReactNode } from 'react';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';

export type Listed<T> = { data?: T[] | undefined; error: Error | null; refetch: () => void };

export function List<T>({
  title,
  none,
  list,
  problem,
  children,
  after,
}: {
  title: string;
  none: string;
  list: Listed<T>;
  problem: Error | null;
  children: (row: T) => ReactNode;
  /** Shown below it, such as a form that adds a row. */
  after?: ReactNode;
}) {
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      {isInTheWay(list.error, list.data) ? (
        <Problem error={list.error} onRetry={list.refetch} />
      ) : !list.data ? (
        <Loading what={title.toLowerCase()} />
      ) : list.data.length === 0 ? (
        <p className="soft">{none}</p>
      ) : (
        <ul className="rows">{list.data.map(children)}</ul>
      )}
      {list.data?.length === reachable && <p className="hint">Only the first 1,000 are shown.</p>}
      {problem && <Problem error={problem} />}
      {after}
    </section>
  );
}

/** The API pages by number no further than this. */
const reachable = 1_000;

export function Row({ title, text, children }: { title: ReactNode; text?: ReactNode; children?: ReactNode }) {
  return (
    <li className="row">
      <span className="grow">
        <strong>{title}</strong>
        {text && <span className="soft">{text}</span>}
      </span>
      {children}
    </li>
  );
}
