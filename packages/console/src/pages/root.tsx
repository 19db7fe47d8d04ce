/** The parent route of all pages. */
import { createRootRoute, Link, Outlet } from '@tanstack/react-router';
import { Empty, Problem } from '../ui/states.tsx';
import { Shell } from './shell.tsx';

export const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: () => (
    <Empty title="There is no such page" isPage>
      <p>
        <Link to="/">Begin anew</Link>
      </p>
    </Empty>
  ),
  errorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} isPage />,
});
