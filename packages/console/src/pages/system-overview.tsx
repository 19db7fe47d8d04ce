/** The whole installation, for its administrators. */
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { AdminStatus } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Time } from '../ui/time.tsx';
import { useTitle } from '../ui/title.ts';
import { Overview } from './overview.tsx';
import { validateOverviewSearch } from './overview-search.ts';
import { waitingTexts } from './waiting.tsx';

export function SystemOverview() {
  useTitle('Overview');
  const { range } = validateOverviewSearch(useSearch({ from: '/' }));
  return (
    <>
      <h1>Overview</h1>
      <Overview path="/admin/stats" range={range} failing={<Link to="/accounts">View by account</Link>}>
        <Accounts />
      </Overview>
    </>
  );
}

/** Accounts with the most waiting deliveries, and paused ones. */
function Accounts() {
  const { api } = useConsole();
  const { data } = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => api.get<AdminStatus>('/admin/status', signal),
    refetchInterval: 10_000,
  });
  if (!data) return null;
  const { organizations, paused } = data;
  return (
    <>
      {organizations.length > 0 && (
        <section className="panel" aria-label="Accounts with the most waiting deliveries">
          <h2>Accounts with the most waiting deliveries</h2>
          <ul className="rows">
            {organizations.map(({ login, reason, deliveries, since }) => (
              <li key={`${login} ${reason}`} className="row">
                <span className="grow">
                  {login === null ? (
                    <span className="soft">no account</span>
                  ) : (
                    <Link to="/accounts/$owner" params={{ owner: login }} search={{ tab: 'throttle' }}>
                      {login}
                    </Link>
                  )}
                  <span className="soft">{waitingTexts[reason]}</span>
                </span>
                <span>{deliveries.toLocaleString()}</span>
                <span className="soft when">{since && <Time at={since} />}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {(paused.organizations.length > 0 || paused.hooks.length > 0) && (
        <section className="panel" aria-label="Paused">
          <h2>Paused</h2>
          <ul className="rows">
            {paused.organizations.map(({ login, since }) => (
              <li key={login} className="row">
                <span className="grow">
                  <Link to="/accounts/$owner" params={{ owner: login }}>
                    All of {login}
                  </Link>
                </span>
                <span className="soft when">
                  <Time at={since} />
                </span>
              </li>
            ))}
            {paused.hooks.map(({ id, organization, since }) => (
              <li key={id} className="row">
                <span className="grow">
                  <Link to="/accounts/$owner" params={{ owner: organization }} search={{ q: String(id) }}>
                    Hook {id} of {organization}
                  </Link>
                </span>
                <span className="soft when">
                  <Time at={since} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
