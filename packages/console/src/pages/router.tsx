/** Every page and its address. Those of hooks have the paths of the API. */
import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { Empty, Problem } from '../ui/states.tsx';
import { Account } from './account.tsx';
import { Accounts } from './accounts.tsx';
import { DeliveryPage } from './delivery.tsx';
import { HookPage } from './hook.tsx';
import { validateSearch } from './hook-search.ts';
import { NewHook } from './new-hook.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: () => <Empty title="There is no such page" />,
  errorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} />,
});
const accounts = createRoute({ getParentRoute: () => root, path: '/', component: Accounts });
const account = createRoute({
  getParentRoute: () => root,
  path: '/accounts/$owner',
  component: () => <Account {...account.useParams()} />,
});

/** The pages of hooks, once for organizations and once for repositories. */
const organizationHooks = '/orgs/$owner/hooks';
const repositoryHooks = '/repos/$owner/$repo/hooks';
const newOrganizationHook = createRoute({
  getParentRoute: () => root,
  path: `${organizationHooks}/new`,
  component: () => <NewHook place={newOrganizationHook.useParams()} />,
});
const newRepositoryHook = createRoute({
  getParentRoute: () => root,
  path: `${repositoryHooks}/new`,
  component: () => <NewHook place={newRepositoryHook.useParams()} />,
});
const organizationHook = createRoute({
  getParentRoute: () => root,
  path: `${organizationHooks}/$hookId`,
  validateSearch,
  component: () => {
    const { hookId, owner } = organizationHook.useParams();
    return <HookPage place={{ owner }} hookId={hookId} search={organizationHook.useSearch()} />;
  },
});
const repositoryHook = createRoute({
  getParentRoute: () => root,
  path: `${repositoryHooks}/$hookId`,
  validateSearch,
  component: () => {
    const { hookId, ...place } = repositoryHook.useParams();
    return <HookPage place={place} hookId={hookId} search={repositoryHook.useSearch()} />;
  },
});
const organizationDelivery = createRoute({
  getParentRoute: () => root,
  path: `${organizationHooks}/$hookId/deliveries/$deliveryId`,
  component: () => {
    const { hookId, deliveryId, owner } = organizationDelivery.useParams();
    return <DeliveryPage place={{ owner }} hookId={hookId} deliveryId={deliveryId} />;
  },
});
const repositoryDelivery = createRoute({
  getParentRoute: () => root,
  path: `${repositoryHooks}/$hookId/deliveries/$deliveryId`,
  component: () => {
    const { hookId, deliveryId, ...place } = repositoryDelivery.useParams();
    return <DeliveryPage place={place} hookId={hookId} deliveryId={deliveryId} />;
  },
});

const routeTree = root.addChildren([
  accounts,
  account,
  newOrganizationHook,
  newRepositoryHook,
  organizationHook,
  repositoryHook,
  organizationDelivery,
  repositoryDelivery,
]);

export const makeRouter = () =>
  createRouter({ routeTree, basepath: import.meta.env.BASE_URL, defaultPreload: 'intent', scrollRestoration: true });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
