/** The start page: the overview for administrators of the installation, and their own accounts for others. */
import { Navigate } from '@tanstack/react-router';
import { useConsole } from '../session/context.ts';
import { isInTheWay, Problem } from '../ui/states.tsx';
import { Accounts } from './accounts.tsx';
import { useMemberships } from './memberships.ts';
import { SystemOverview } from './system-overview.tsx';

export function Home() {
  const { isSiteAdmin } = useConsole();
  return isSiteAdmin ? <SystemOverview /> : <OwnAccounts />;
}

/** With a single one there is nothing to choose. */
function OwnAccounts() {
  const { data, error, refetch } = useMemberships();
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (data?.length === 1)
    return <Navigate to="/accounts/$owner" params={{ owner: data[0]!.organization.login }} replace />;
  return <Accounts />;
}
