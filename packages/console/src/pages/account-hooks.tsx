/** All hooks of an organization and its repositories, with their health. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import type { ListedHook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { SearchField } from '../ui/fields.tsx';
import { InfiniteScroll } from '../ui/infinite-scroll.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import type { AccountSearch } from './account-search.ts';
import { eventsOf, healthOf } from './health.ts';
import { LinkToHook, LinkToNewHook } from './links.tsx';
import { percent } from './numbers.ts';

export function AccountHooks({ owner, search }: { owner: string; search: AccountSearch }) {
  const { api } = useConsole();
  const navigate = useNavigate();
  const { q, repository, status } = search;
  const asked = new URLSearchParams({
    per_page: '50',
    ...(q && { q }),
    ...(repository && { repository }),
    ...(status && { status }),
  });
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['hooks', owner, q, repository, status],
    initialPageParam: `/orgs/${encodeURIComponent(owner)}/webhooks?${asked}`,
    queryFn: ({ pageParam, signal }) => api.page<ListedHook>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  const hooks = data?.pages.flatMap(({ rows }) => rows);
  return (
    <>
      <div className="pair narrow">
        <SearchField
          label="Find a hook"
          placeholder="part of the URL, or the ID"
          value={q ?? ''}
          onChange={(text) => void navigate({ to: '.', search: { ...search, q: text || undefined }, replace: true })}
        />
        <LinkToNewHook place={repository === undefined ? { owner } : { owner, repo: repository }} isMain />
      </div>
      <fieldset className="filters" aria-label="Filter">
        {([undefined, 'failure'] as const).map((each) => (
          <Button
            key={each ?? 'all'}
            aria-pressed={each === status}
            onPress={() => void navigate({ to: '.', search: { ...search, status: each }, replace: true })}
          >
            {each === undefined ? 'All' : 'Failing'}
          </Button>
        ))}
      </fieldset>
      {repository !== undefined && (
        <p className="note">
          Only hooks of {owner}/{repository}.{' '}
          <Link to="/accounts/$owner" params={{ owner }} search={q ? { q } : {}}>
            Show all hooks of {owner}
          </Link>
        </p>
      )}
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {!hooks ? (
        !error && <Loading what="hooks" />
      ) : hooks.length === 0 ? (
        <Empty title={status ? 'No failing hooks' : q ? 'No hooks match' : 'There are no hooks yet'}>
          {status && <p>Hooks whose last delivery failed are shown here.</p>}
          {!status && !q && <p>A hook sends events to a URL of your choice.</p>}
        </Empty>
      ) : (
        <ul className="rows panel">
          {hooks.map((hook) => (
            <li key={hook.id}>
              <HookRow owner={owner} hook={hook} />
            </li>
          ))}
        </ul>
      )}
      <InfiniteScroll
        label="More hooks"
        hasNextPage={hasNextPage}
        isFetching={isFetching}
        fetchNextPage={fetchNextPage}
      />
    </>
  );
}

/** A hook in a list: its URL, its events, its health. */
function HookRow({ owner, hook }: { owner: string; hook: ListedHook }) {
  const { health, repository } = hook;
  const { tone, text } = healthOf(hook);
  const tried = health.delivered + health.failed;
  return (
    <LinkToHook
      place={repository === null ? { owner } : { owner, repo: repository.name }}
      hookId={String(hook.id)}
      className="row"
    >
      <span className={`dot ${tone}`} aria-hidden="true" />
      <span className="grow">
        <strong className="url">{hook.config.url}</strong>
        <span className="soft">
          {repository === null ? `all of ${owner}` : repository.name}: {eventsOf(hook)}
        </span>
      </span>
      <span className={`tag ${tone}`}>{text}</span>
      <span className="soft rate">
        {health.success_rate === null ? '' : `${percent(health.success_rate)} of ${tried.toLocaleString()} in 24 h`}
      </span>
      <span className="soft when">{health.last_delivery_at ? <Time at={health.last_delivery_at} /> : ''}</span>
    </LinkToHook>
  );
}
