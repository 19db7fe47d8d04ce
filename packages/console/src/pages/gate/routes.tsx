/** The pages of the gate and their addresses, all below `/gate/`. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { page } from '../page.tsx';
import type { root as rootRoute } from '../root.tsx';
import {
  validateApplicationSearch,
  validateLogSearch,
  validateOrganizationSearch,
  validateTemplateSearch,
  validateUserSearch,
} from './search.ts';

const ApplicationPage = lazyRouteComponent(() => import('./application.tsx'), 'ApplicationPage');
const ApiPage = lazyRouteComponent(() => import('./api.tsx'), 'ApiPage');
const Users = lazyRouteComponent(() => import('./users.tsx'), 'Users');
const UserPage = lazyRouteComponent(() => import('./user.tsx'), 'UserPage');
const RolePage = lazyRouteComponent(() => import('./role.tsx'), 'RolePage');
const OrganizationPage = lazyRouteComponent(() => import('./organization.tsx'), 'OrganizationPage');
const ActionPage = lazyRouteComponent(() => import('./action.tsx'), 'ActionPage');
const EmailTemplates = lazyRouteComponent(() => import('./email-templates.tsx'), 'EmailTemplates');
const LogPage = lazyRouteComponent(() => import('./log.tsx'), 'LogPage');

export const gateRoutes = (root: typeof rootRoute) => {
  const getParentRoute = () => root;
  const application = createRoute({
    getParentRoute,
    path: '/gate/applications/$clientId',
    validateSearch: validateApplicationSearch,
    component: page(ApplicationPage, () => (
      <ApplicationPage {...application.useParams()} search={validateApplicationSearch(application.useSearch())} />
    )),
  });
  const api = createRoute({
    getParentRoute,
    path: '/gate/apis/$apiId',
    component: page(ApiPage, () => <ApiPage {...api.useParams()} />),
  });
  const users = createRoute({
    getParentRoute,
    path: '/gate/users',
    validateSearch: validateUserSearch,
    component: page(Users, () => <Users search={validateUserSearch(users.useSearch())} />),
  });
  const user = createRoute({
    getParentRoute,
    path: '/gate/users/$userId',
    component: page(UserPage, () => <UserPage {...user.useParams()} />),
  });
  const role = createRoute({
    getParentRoute,
    path: '/gate/roles/$roleId',
    component: page(RolePage, () => <RolePage {...role.useParams()} />),
  });
  const organization = createRoute({
    getParentRoute,
    path: '/gate/organizations/$organizationId',
    validateSearch: validateOrganizationSearch,
    component: page(OrganizationPage, () => (
      <OrganizationPage {...organization.useParams()} search={validateOrganizationSearch(organization.useSearch())} />
    )),
  });
  const action = createRoute({
    getParentRoute,
    path: '/gate/actions/$actionId',
    component: page(ActionPage, () => <ActionPage {...action.useParams()} />),
  });
  const log = createRoute({
    getParentRoute,
    path: '/gate/log',
    validateSearch: validateLogSearch,
    component: page(LogPage, () => <LogPage search={validateLogSearch(log.useSearch())} />),
  });
  const templates = createRoute({
    getParentRoute,
    path: '/gate/email-templates',
    validateSearch: validateTemplateSearch,
    component: page(EmailTemplates, () => <EmailTemplates {...validateTemplateSearch(templates.useSearch())} />),
  });
  return [
    createRoute({
      getParentRoute,
      path: '/gate/applications',
      component: lazyRouteComponent(() => import('./applications.tsx'), 'Applications'),
    }),
    createRoute({
      getParentRoute,
      path: '/gate/applications/new',
      component: lazyRouteComponent(() => import('./new-application.tsx'), 'NewApplication'),
    }),
    application,
    createRoute({
      getParentRoute,
      path: '/gate/apis',
      component: lazyRouteComponent(() => import('./apis.tsx'), 'Apis'),
    }),
    api,
    users,
    user,
    createRoute({
      getParentRoute,
      path: '/gate/roles',
      component: lazyRouteComponent(() => import('./roles.tsx'), 'Roles'),
    }),
    role,
    createRoute({
      getParentRoute,
      path: '/gate/organizations',
      component: lazyRouteComponent(() => import('./organizations.tsx'), 'Organizations'),
    }),
    organization,
    createRoute({
      getParentRoute,
      path: '/gate/actions',
      component: lazyRouteComponent(() => import('./actions.tsx'), 'Actions'),
    }),
    action,
    createRoute({
      getParentRoute,
      path: '/gate/multi-factor',
      component: lazyRouteComponent(() => import('./multi-factor.tsx'), 'MultiFactor'),
    }),
    createRoute({
      getParentRoute,
      path: '/gate/connections',
      component: lazyRouteComponent(() => import('./connections.tsx'), 'Connections'),
    }),
    log,
    createRoute({
      getParentRoute,
      path: '/gate/keys',
      component: lazyRouteComponent(() => import('./keys.tsx'), 'Keys'),
    }),
    createRoute({
      getParentRoute,
      path: '/gate/sign-in-page',
      component: lazyRouteComponent(() => import('./sign-in-page.tsx'), 'SignInPage'),
    }),
    createRoute({
      getParentRoute,
      path: '/gate/attack-protection',
      component: lazyRouteComponent(() => import('./attack-protection.tsx'), 'AttackProtection'),
    }),
    templates,
    createRoute({
      getParentRoute,
      path: '/gate/settings',
      component: lazyRouteComponent(() => import('./tenant.tsx'), 'Tenant'),
    }),
  ] as const;
};
