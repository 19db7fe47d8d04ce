/** The organizations that one belongs to; for an administrator of the installation, all of them. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Organization } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { TextField } from '../ui/fields.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { useTitle } from '../ui/title.ts';
import { useMemberships } from './memberships.ts';
import { counted, percent } from './numbers.ts';

export function Accounts() {
  const { isSiteAdmin } = useConsole();
  useTitle('Accounts');
  return isSiteAdmin ? <AllAccounts /> : <OwnAccounts />;
}

function OwnAccounts() {
  const { session } = useConsole();
  const { data, error, refetch } = useMemberships();
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="your organizations" />;
  if (data.length === 0)
    return (
      <Empty title="You are not a member of an organization yet" isPage>
        <p>
          An admin can add you by your user ID: <code>{session.person.sub}</code>
        </p>
      </Empty>
    );
  return (
    <>
      <h1>Accounts</h1>
      <ul className="cards">
        {data.map(({ organization: { login }, role }) => (
          <li key={login}>
            <AccountCard login={login}>
              <span className="soft">{role}</span>
            </AccountCard>
          </li>
        ))}
      </ul>
    </>
  );
}

function AllAccounts() {
  const { api } = useConsole();
  const [search, setSearch] = useState('');
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['organizations'],
    initialPageParam: '/admin/organizations?per_page=100',
    queryFn: ({ pageParam, signal }) => api.page<Organization>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="accounts" />;
  const all = data.pages.flatMap(({ rows }) => rows);
  const found = all
    .filter(({ login }) => login.toLowerCase().includes(search.trim().toLowerCase()))
    .sort((a, b) => Number(isFailing(b)) - Number(isFailing(a)) || a.login.localeCompare(b.login));
  return (
    <>
      <div className="title">
        <h1>Accounts</h1>
        <span className="grow" />
        {all.length > 10 && <TextField label="Find an account" value={search} onChange={setSearch} />}
      </div>
      {all.length === 0 && <Empty title="There are no accounts yet" />}
      {all.length > 0 && found.length === 0 && <Empty title={`None of the accounts shown match ${search}`} />}
      <ul className="cards">
        {found.map(({ login, repositories, hooks, health, paused_at: pausedAt }) => (
          <li key={login}>
            <AccountCard login={login}>
              <span className="soft">
                {pausedAt && <span className="tag waits">paused</span>} {counted(hooks, 'hook')} in{' '}
                {counted(repositories, 'repository', 'repositories')}
              </span>
              {health.success_rate !== null && (
                <span className={isFailing({ health }) ? 'bad-text' : 'soft'}>
                  {percent(health.success_rate)} of {counted(health.delivered + health.failed, 'attempt')} in the last
                  day
                </span>
              )}
            </AccountCard>
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetchingNextPage}>
          More accounts
        </Button>
      )}
    </>
  );
}

/** Those that need attention come first. */
const isFailing = ({ health: { success_rate: rate } }: Pick<Organization, 'health'>): boolean =>
  rate !== null && rate < 0.9;

function AccountCard({ login, children }: { login: string; children: ReactNode }) {
  return (
    <Link to="/accounts/$owner" params={{ owner: login }} className="card">
      <strong>{login}</strong>
      {children}
    </Link>
  );
}
