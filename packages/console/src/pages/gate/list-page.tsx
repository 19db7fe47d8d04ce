/** All of one kind at the gate, each linked to its page and searchable by name, with a form that creates another. */
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components';
import { TextField } from '../../ui/fields.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import type { Listed } from './list.tsx';

export function ListPage<T>({
  title,
  what,
  list,
  textOf,
  none,
  form,
  children,
}: {
  title: string;
  /** A single one, with its article: "a role". */
  what: `${'a' | 'an'} ${string}`;
  list: Listed<T>;
  /** The text to search in. */
  textOf: (one: T) => string;
  /** What one is for, shown while there is none. */
  none: ReactNode;
  /** The form that creates one; absent if the person may not. */
  form: ReactNode;
  children: (one: T) => ReactNode;
}) {
  const [isMaking, setMaking] = useState(false);
  const [search, setSearch] = useState('');
  const { data, error, refetch } = list;
  const many = title.toLowerCase();
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what={many} />;
  const wanted = search.trim().toLowerCase();
  const found = data.filter((one) => textOf(one).toLowerCase().includes(wanted));
  return (
    <>
      <div className="title">
        <h1>{title}</h1>
        <span className="grow" />
        {form && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : `New ${what.replace(/^an? /, '')}`}
          </Button>
        )}
      </div>
      {isMaking && form}
      {data.length === 0 ? (
        <Empty title={`There are no ${many} yet`}>
          <p>{none}</p>
        </Empty>
      ) : (
        <section className="panel" aria-label={`List of ${many}`}>
          {data.length > 12 && <TextField label={`Find ${what}`} value={search} onChange={setSearch} />}
          {found.length === 0 && <p className="soft">No {many} match.</p>}
          <ul className="rows">{found.map(children)}</ul>
          {data.length === 1_000 && (
            <p className="hint">Only the first 1,000 are shown. Others can be opened by their URL.</p>
          )}
        </section>
      )}
    </>
  );
}
