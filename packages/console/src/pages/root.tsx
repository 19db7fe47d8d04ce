/** The parent route of all pages. */
import { createRootRoute, Link, Outlet } from '@tanstack/react-router';
import { PageProblem } from '../ui/page-problem.tsx';
import { Empty } from '../ui/states.tsx';
import { Shell } from './shell.tsx';

export const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: () => (
    <Empty title="Page not found" isPage>
      <p>
        <Link to="/">Go to the start page</Link>
      </p>
    </Empty>
  ),
  errorComponent: PageProblem,
});
