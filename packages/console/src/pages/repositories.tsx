/** An organization's repositories, with links to their hooks and to a new one. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Repository } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { TextField } from '../ui/fields.tsx';
import { InfiniteScroll } from '../ui/infinite-scroll.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { LinkToNewHook } from './links.tsx';

export function Repositories({ owner }: { owner: string }) {
  const { api } = useConsole();
  const [search, setSearch] = useState('');
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['repositories', owner],
    initialPageParam: `/orgs/${encodeURIComponent(owner)}/repos?per_page=100`,
    queryFn: ({ pageParam, signal }) => api.page<Repository>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} />;
  if (!data) return <Loading what="repositories" />;
  const all = data.pages.flatMap(({ rows }) => rows);
  const found = all.filter(({ name }) => name.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <>
      {all.length > 10 && <TextField label="Find a repository" value={search} onChange={setSearch} />}
      {found.length === 0 ? (
        <Empty title={search ? `No repository matches ${search}` : 'There are no repositories yet'} />
      ) : (
        <ul className="rows panel">
          {found.map(({ name, private: isPrivate }) => (
            <li key={name} className="row">
              <span className="grow">
                <Link to="/accounts/$owner" params={{ owner }} search={{ repository: name }}>
                  {name}
                </Link>{' '}
                {isPrivate && <span className="tag">private</span>}
              </span>
              <LinkToNewHook place={{ owner, repo: name }} />
            </li>
          ))}
        </ul>
      )}
      <InfiniteScroll
        label="More repositories"
        hasNextPage={hasNextPage}
        isFetching={isFetching}
        fetchNextPage={fetchNextPage}
      />
    </>
  );
}
