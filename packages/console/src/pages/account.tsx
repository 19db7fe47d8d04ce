/** The hooks of an organization and of its repositories. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import { type Place, placePath } from '../api/place.ts';
import type { Hook, Membership, Repository } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { TextField } from '../ui/fields.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { HookLink, LinkToNewHook } from './links.tsx';

export function Account({ owner }: { owner: string }) {
  const { api } = useConsole();
  const [search, setSearch] = useState('');
  const role = useQuery({
    queryKey: ['memberships'],
    queryFn: ({ signal }) => api.get<Membership[]>('/user/memberships/orgs?per_page=100', signal),
    select: (all) => all.find(({ organization }) => organization.login.toLowerCase() === owner.toLowerCase())?.role,
  });
  const repositories = useInfiniteQuery({
    queryKey: ['repositories', owner],
    initialPageParam: `/orgs/${encodeURIComponent(owner)}/repos?per_page=100`,
    queryFn: ({ pageParam, signal }) => api.page<Repository>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
  });
  if (role.error) return <Problem error={role.error} onRetry={role.refetch} />;
  if (repositories.error) return <Problem error={repositories.error} onRetry={repositories.refetch} />;
  if (!repositories.data) return <Loading what="repositories" />;
  const found = repositories.data.pages
    .flatMap(({ rows }) => rows)
    .filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  return (
    <>
      <div className="title">
        <h1>{owner}</h1>
        <span className="tag">{role.data}</span>
      </div>
      {role.data === 'admin' && <Hooks place={{ owner }} title="Hooks of the organization" heading="h2" />}
      <div className="title">
        <h2>Repositories</h2>
        {(search !== '' || found.length > 10) && <TextField label="Find" value={search} onChange={setSearch} />}
      </div>
      {found.length === 0 && <Empty title={search ? `None is called ${search}` : 'There are no repositories yet'} />}
      {found.map(({ name }) => (
        <Hooks key={name} place={{ owner, repo: name }} title={name} heading="h3" />
      ))}
      {repositories.hasNextPage && (
        <Button className="button" onPress={() => repositories.fetchNextPage()} isDisabled={repositories.isFetching}>
          More repositories
        </Button>
      )}
    </>
  );
}

function Hooks({ place, title, heading: Heading }: { place: Place; title: string; heading: 'h2' | 'h3' }) {
  const { api } = useConsole();
  const { data, error, refetch } = useQuery({
    queryKey: ['hooks', placePath(place)],
    queryFn: ({ signal }) => api.get<Hook[]>(`${placePath(place)}/hooks?per_page=100`, signal),
  });
  // A member who may not manage a repository's hooks hears that there are none to be seen.
  const isRefused = error instanceof ApiProblem && (error.status === 404 || error.status === 403);
  return (
    <section className="panel" aria-label={title}>
      <div className="title">
        <Heading>{title}</Heading>
        {!isRefused && <LinkToNewHook place={place} />}
      </div>
      {isRefused ? (
        <p className="soft">An admin sees its hooks.</p>
      ) : error ? (
        <Problem error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading what="hooks" />
      ) : data.length === 0 ? (
        <p className="soft">No hooks yet.</p>
      ) : (
        <ul className="rows">
          {data.map((hook) => (
            <li key={hook.id}>
              <HookLink place={place} hook={hook} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
