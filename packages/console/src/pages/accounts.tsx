import { useQuery } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import type { Membership } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';

/** The organizations that one belongs to; with one alone there is nothing to choose. */
export function Accounts() {
  const { api, session } = useConsole();
  const { data, error, refetch } = useQuery({
    queryKey: ['memberships'],
    queryFn: ({ signal }) => api.get<Membership[]>('/user/memberships/orgs?per_page=100', signal),
  });
  if (error) return <Problem error={error} onRetry={refetch} />;
  if (!data) return <Loading what="your organizations" />;
  const [first] = data;
  if (first === undefined)
    return (
      <Empty title="You belong to no organization yet">
        <p>
          An admin adds you by your user id: <code>{session.person.sub}</code>
        </p>
      </Empty>
    );
  if (data.length === 1) return <Navigate to="/accounts/$owner" params={{ owner: first.organization.login }} replace />;
  return (
    <>
      <h1>Accounts</h1>
      <ul className="cards">
        {data.map(({ organization: { login }, role }) => (
          <li key={login}>
            <Link to="/accounts/$owner" params={{ owner: login }} className="card">
              <strong>{login}</strong>
              <span className="soft">{role}</span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
