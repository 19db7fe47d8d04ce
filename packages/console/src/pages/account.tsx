/** An organization: its hooks and those of its repositories, their health, its limit. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useConsole } from '../session/context.ts';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { useTitle } from '../ui/title.ts';
import { AccountHooks } from './account-hooks.tsx';
import type { AccountSearch, AccountTab } from './account-search.ts';
import { useMemberships, useRole } from './memberships.ts';
import { PauseButton, Paused } from './paused.tsx';

const Overview = lazy(async () => ({ default: (await import('./overview.tsx')).Overview }));
const Throttle = lazy(async () => ({ default: (await import('./throttle.tsx')).Throttle }));
const Repositories = lazy(async () => ({ default: (await import('./repositories.tsx')).Repositories }));

const tabs: Record<AccountTab, string> = {
  hooks: 'Hooks',
  overview: 'Overview',
  throttle: 'Throttle',
  repositories: 'Repositories',
};

export function Account({ owner, search }: { owner: string; search: AccountSearch }) {
  useTitle(owner);
  const { isSiteAdmin } = useConsole();
  const { refetch } = useMemberships();
  const { role, error } = useRole(owner);
  if (isInTheWay(error, role)) return <Problem error={error} onRetry={refetch} isPage />;
  if (role === undefined) return <Loading what="your role" />;
  if (role === null && isSiteAdmin)
    return (
      <Empty title={`There is no account called ${owner}`} isPage>
        <p>
          <Link to="/accounts">Go to the accounts</Link>
        </p>
      </Empty>
    );
  const tab = search.tab ?? 'hooks';
  return (
    <>
      <div className="title">
        <h1>{owner}</h1>
        <span className="tag">{role === null ? 'not a member' : isSiteAdmin ? 'site admin' : role}</span>
        <span className="grow" />
        {isSiteAdmin && <PauseButton owner={owner} />}
      </div>
      {role !== 'admin' ? (
        <Member owner={owner} role={role} />
      ) : (
        <>
          <Paused owner={owner} />
          <nav className="tabs" aria-label="Account">
            {(Object.keys(tabs) as AccountTab[]).map((name) => (
              <Link
                key={name}
                to="/accounts/$owner"
                params={{ owner }}
                search={name === tab ? search : name === 'hooks' ? {} : { tab: name }}
                activeOptions={{ exact: true, includeSearch: true }}
              >
                {tabs[name]}
              </Link>
            ))}
          </nav>
          <Suspense fallback={<Loading what="the page" />}>
            {tab === 'hooks' && <AccountHooks owner={owner} search={search} />}
            {tab === 'overview' && (
              <Overview
                path={`/orgs/${encodeURIComponent(owner)}/stats`}
                range={search.range}
                failing={
                  <Link to="/accounts/$owner" params={{ owner }} search={{ status: 'failure' }}>
                    Failing hooks
                  </Link>
                }
              />
            )}
            {tab === 'throttle' && <Throttle owner={owner} range={search.range} />}
            {tab === 'repositories' && <Repositories owner={owner} />}
          </Suspense>
        </>
      )}
    </>
  );
}

/** GitHub shows hooks only to admins; a member sees whom to ask, and who else belongs to the organization. */
function Member({ owner, role }: { owner: string; role: 'member' | null }) {
  const admins = useMembers(owner, 'admin', role === 'member');
  const members = useMembers(owner, 'member', role === 'member');
  if (role === null)
    return (
      <Empty title="You are not a member of this organization">
        <p>If it exists, one of its admins can add you.</p>
      </Empty>
    );
  return (
    <>
      <Empty title="Only admins can see the hooks of this organization">
        <p>You are a member. Ask an admin to create a hook, or to make you an admin.</p>
      </Empty>
      <Logins title="Admins" logins={admins.data} />
      <Logins title="Members" logins={members.data} />
    </>
  );
}

function useMembers(owner: string, role: 'admin' | 'member', enabled: boolean) {
  const { api } = useConsole();
  return useQuery({
    queryKey: ['members', owner, role],
    queryFn: ({ signal }) =>
      api.get<{ login: string }[]>(`/orgs/${encodeURIComponent(owner)}/members?role=${role}&per_page=100`, signal),
    enabled,
  });
}

function Logins({ title, logins }: { title: string; logins: { login: string }[] | undefined }) {
  const { session } = useConsole();
  if (!logins || logins.length === 0) return null;
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <ul className="rows">
        {logins.map(({ login }) => (
          <li key={login} className="row">
            <code>{login}</code> {login === session.person.sub && <span className="tag">you</span>}
          </li>
        ))}
      </ul>
      {logins.length === 100 && <p className="hint">Only the first 100 are shown.</p>}
    </section>
  );
}
