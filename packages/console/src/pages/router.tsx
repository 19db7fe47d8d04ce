/** Every page and its address; each page is loaded when it is opened. The pages of hooks have the API's paths. */
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { PageProblem } from '../ui/page-problem.tsx';
import { Loading } from '../ui/states.tsx';
import { validateAccountSearch } from './account-search.ts';
import { gateRoutes } from './gate/routes.tsx';
import { validateSearch } from './hook-search.ts';
import { validateOverviewSearch } from './overview-search.ts';
import { page } from './page.tsx';
import { root } from './root.tsx';

const getParentRoute = () => root;

const home = createRoute({
  getParentRoute,
  path: '/',
  validateSearch: validateOverviewSearch,
  component: lazyRouteComponent(() => import('./home.tsx'), 'Home'),
});
const accounts = createRoute({
  getParentRoute,
  path: '/accounts',
  component: lazyRouteComponent(() => import('./accounts.tsx'), 'Accounts'),
});
const Account = lazyRouteComponent(() => import('./account.tsx'), 'Account');
const account = createRoute({
  getParentRoute,
  path: '/accounts/$owner',
  validateSearch: validateAccountSearch,
  component: page(Account, () => (
    <Account {...account.useParams()} search={validateAccountSearch(account.useSearch())} />
  )),
});
const deadLetters = createRoute({
  getParentRoute,
  path: '/dead-letters',
  component: lazyRouteComponent(() => import('./dead-letters.tsx'), 'DeadLetters'),
});
const DeadLetterPage = lazyRouteComponent(() => import('./dead-letter.tsx'), 'DeadLetterPage');
const deadLetter = createRoute({
  getParentRoute,
  path: '/dead-letters/$letterId',
  component: page(DeadLetterPage, () => <DeadLetterPage {...deadLetter.useParams()} />),
});

/** The pages of hooks, once for organizations and once for repositories. */
const organizationHooks = '/orgs/$owner/hooks';
const repositoryHooks = '/repos/$owner/$repo/hooks';

const NewHook = lazyRouteComponent(() => import('./new-hook.tsx'), 'NewHook');
const newOrganizationHook = createRoute({
  getParentRoute,
  path: `${organizationHooks}/new`,
  component: page(NewHook, () => <NewHook place={newOrganizationHook.useParams()} />),
});
const newRepositoryHook = createRoute({
  getParentRoute,
  path: `${repositoryHooks}/new`,
  component: page(NewHook, () => <NewHook place={newRepositoryHook.useParams()} />),
});

const HookPage = lazyRouteComponent(() => import('./hook.tsx'), 'HookPage');
const organizationHook = createRoute({
  getParentRoute,
  path: `${organizationHooks}/$hookId`,
  validateSearch,
  component: page(HookPage, () => {
    const { hookId, ...place } = organizationHook.useParams();
    return (
      <HookPage key={hookId} place={place} hookId={hookId} search={validateSearch(organizationHook.useSearch())} />
    );
  }),
});
const repositoryHook = createRoute({
  getParentRoute,
  path: `${repositoryHooks}/$hookId`,
  validateSearch,
  component: page(HookPage, () => {
    const { hookId, ...place } = repositoryHook.useParams();
    return <HookPage key={hookId} place={place} hookId={hookId} search={validateSearch(repositoryHook.useSearch())} />;
  }),
});

const DeliveryPage = lazyRouteComponent(() => import('./delivery.tsx'), 'DeliveryPage');
const organizationDelivery = createRoute({
  getParentRoute,
  path: `${organizationHooks}/$hookId/deliveries/$deliveryId`,
  component: page(DeliveryPage, () => {
    const { hookId, deliveryId, ...place } = organizationDelivery.useParams();
    return <DeliveryPage key={deliveryId} place={place} hookId={hookId} deliveryId={deliveryId} />;
  }),
});
const repositoryDelivery = createRoute({
  getParentRoute,
  path: `${repositoryHooks}/$hookId/deliveries/$deliveryId`,
  component: page(DeliveryPage, () => {
    const { hookId, deliveryId, ...place } = repositoryDelivery.useParams();
    return <DeliveryPage key={deliveryId} place={place} hookId={hookId} deliveryId={deliveryId} />;
  }),
});

const routeTree = root.addChildren([
  home,
  accounts,
  account,
  deadLetters,
  deadLetter,
  newOrganizationHook,
  newRepositoryHook,
  organizationHook,
  repositoryHook,
  organizationDelivery,
  repositoryDelivery,
  ...gateRoutes(root),
]);

export const makeRouter = () =>
  createRouter({
    routeTree,
    basepath: import.meta.env.BASE_URL,
    defaultPreload: 'intent',
    defaultPendingComponent: () => <Loading what="the page" />,
    defaultErrorComponent: PageProblem, // within the shell
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
