/** Every route: method, path, who may use it, what it does. */
import * as scopes from './access/scopes.ts';
import { deleteRepository, updateRepository } from './accounts/change-repository.ts';
import { getCollaboratorPermission } from './accounts/collaborators.ts';
import { createOrganization } from './accounts/create-organization.ts';
import { getDeliveryStatus } from './accounts/delivery-status.ts';
import { getOrganizationById, getRepositoryById } from './accounts/get-by-id.ts';
import { getOrganization } from './accounts/get-organization.ts';
import { getRepository } from './accounts/get-repository.ts';
import { checkMember, listMembers } from './accounts/members.ts';
import { getMembership, getOwnMembership, removeMembership, setMembership } from './accounts/memberships.ts';
import { approve, listApprovals, revokeApproval } from './accounts/oauth-app-approvals.ts';
import { getPolicy, setPolicy } from './accounts/oauth-app-policy.ts';
import { createRepository, listRepositories } from './accounts/repositories.ts';
import { getThrottle, removeThrottle, setThrottle } from './accounts/throttle.ts';
import { getTopics, setTopics } from './accounts/topics.ts';
import { disableAlerts, enableAlerts, getAlerts } from './accounts/vulnerability-alerts.ts';
import {
  dropDeadLetter,
  dropDeadLetters,
  getDeadLetter,
  listDeadLetters,
  publishDeadLetter,
  publishDeadLetters,
} from './admin/dead-letters.ts';
import { findEvent } from './admin/find-event.ts';
import { deleteOrganization, listOrganizations } from './admin/organizations.ts';
import { pauseHook, pauseOrganization, resumeHook, resumeOrganization } from './admin/pause.ts';
import { resealSecrets } from './admin/reseal.ts';
import { getStatus } from './admin/status.ts';
import { listWaiting } from './admin/waiting.ts';
import { getDelivery } from './deliveries/get.ts';
import { listDeliveries } from './deliveries/list.ts';
import { redeliver } from './deliveries/redeliver.ts';
import { explainAtHook, explainDelivery } from './explain/at-hook.ts';
import { explainEvent } from './explain/event.ts';
import { createHook } from './hooks/create.ts';
import { deleteHook } from './hooks/delete.ts';
import { getHook } from './hooks/get.ts';
import { getHookConfig } from './hooks/get-config.ts';
import { listHooks } from './hooks/list.ts';
import { listAccountHooks, listOrganizationHooks } from './hooks/list-all.ts';
import { pingHook } from './hooks/ping.ts';
import { testHook } from './hooks/test.ts';
import { triggerEvent } from './hooks/trigger.ts';
import { updateHook } from './hooks/update.ts';
import { updateHookConfig } from './hooks/update-config.ts';
import type { OpenCall, Operation, PlaceCall, TokenCall } from './http/operation.ts';
import type { Access, AnyRoute, Method } from './http/route.ts';
import { connectListener } from './listeners/connect.ts';
import { getDocs, getDocsScript } from './meta/docs.ts';
import { listEventTypes } from './meta/event-types.ts';
import { askGraphql } from './meta/graphql.ts';
import { getMeta } from './meta/meta.ts';
import { getOpenApi } from './meta/openapi.ts';
import { getProtectedResource } from './meta/protected-resource.ts';
import { getRateLimit } from './meta/rate-limit.ts';
import { getRoot } from './meta/root.ts';
import { getVersions } from './meta/versions.ts';
import { getOctocat, getZen } from './meta/zen.ts';
import { createReplay } from './replays/create.ts';
import { getReplay } from './replays/get.ts';
import { listReplays } from './replays/list.ts';
import { stopReplay } from './replays/stop.ts';
import { getAccountStats, getAllStats, getHookStats, getOrganizationStats } from './stats/operations.ts';
import { streamDeliveries } from './streams/open.ts';
import { getAuthenticatedUser, getUser } from './users/get-user.ts';
import { listOwnMemberships, listOwnOrganizations } from './users/memberships.ts';

type CallAt<A extends Access> = A extends { kind: 'open' }
  ? OpenCall
  : A extends { kind: 'token' }
    ? TokenCall
    : PlaceCall;

function at<A extends Access>(method: Method, path: string, access: A, operation: Operation<CallAt<A>>): AnyRoute {
  const family = path.startsWith('/orgs/') ? 'orgs' : 'repos';
  // `CallAt` has checked that it gets the call it takes; the type of a table of all routes cannot express that for each.
  return { method, path, family, access, operation: operation as unknown as AnyRoute['operation'] };
}

const open = { kind: 'open' } as const;
const site = { kind: 'token', scopes: scopes.site } as const;
const any = { kind: 'token', scopes: scopes.any } as const;
const member = { kind: 'place', scopes: scopes.any, role: 'member' } as const;
const admin = (accepted: readonly string[]) => ({ kind: 'place', scopes: accepted, role: 'admin' }) as const;
const repositoryAdmin = {
  ...admin(scopes.repositoryDeletion),
  refusal: 'Must have admin rights to Repository.',
} as const;
const ownAdmin = { ...admin(scopes.organization), firstParty: true } as const;
const { read, write, manage } = scopes.repositoryHooks;
const { organization, organizationHooks, organizationRepositories } = scopes;

const repo = '/repos/{owner}/{repo}';
const org = '/orgs/{org}';
const hook = '/hooks/{hook_id}';
const delivery = `${hook}/deliveries/{delivery_id}`;
const replays = `${hook}/deliveries/replays`;
const approvals = `${org}/oauth-app-approvals`;
const deadLetters = '/admin/dead-letters';

// biome-ignore format: a table
export const routes: AnyRoute[] = [
  at('get',    repo,                                  member,                          getRepository),
  at('patch',  repo,                                  admin(scopes.repository),        updateRepository),
  at('delete', repo,                                  repositoryAdmin,                 deleteRepository),
  at('get',    `${repo}/topics`,                      member,                          getTopics),
  at('put',    `${repo}/topics`,                      admin(scopes.repository),        setTopics),
  at('get',    `${repo}/vulnerability-alerts`,        admin(scopes.repository),        getAlerts),
  at('put',    `${repo}/vulnerability-alerts`,        admin(scopes.repository),        enableAlerts),
  at('delete', `${repo}/vulnerability-alerts`,        admin(scopes.repository),        disableAlerts),
  at('get',    `${repo}/collaborators/{username}/permission`, { ...member, scopes: scopes.collaborators }, getCollaboratorPermission),
  at('get',    `${repo}/hooks`,                       admin(read),                     listHooks),
  at('post',   `${repo}/hooks`,                       admin(write),                    createHook),
  at('get',    `${repo}${hook}`,                      admin(read),                     getHook),
  at('patch',  `${repo}${hook}`,                      admin(write),                    updateHook),
  at('delete', `${repo}${hook}`,                      admin(manage),                   deleteHook),
  at('get',    `${repo}${hook}/config`,               admin(read),                     getHookConfig),
  at('patch',  `${repo}${hook}/config`,               admin(write),                    updateHookConfig),
  at('get',    `${repo}${hook}/deliveries`,           admin(read),                     listDeliveries),
  at('get',    `${repo}${hook}/deliveries/stream`,    admin(read),                     streamDeliveries),
  at('get',    `${repo}${replays}`,                   admin(read),                     listReplays),
  at('post',   `${repo}${replays}`,                   admin(write),                    createReplay),
  at('get',    `${repo}${replays}/{replay_id}`,       admin(read),                     getReplay),
  at('delete', `${repo}${replays}/{replay_id}`,       admin(write),                    stopReplay),
  at('get',    `${repo}${delivery}`,                  admin(read),                     getDelivery),
  at('get',    `${repo}${delivery}/explain`,          admin(read),                     explainDelivery),
  at('get',    `${repo}${hook}/explain`,              admin(read),                     explainAtHook),
  at('get',    `${repo}${hook}/stats`,                admin(read),                     getHookStats),
  at('post',   `${repo}${delivery}/attempts`,         admin(write),                    redeliver),
  at('get',    `${repo}${hook}/socket`,               admin(write),                    connectListener), // where `ws_url` leads
  at('post',   `${repo}${hook}/pings`,                admin(read),                     pingHook),
  at('post',   `${repo}${hook}/tests`,                admin(read),                     testHook),
  at('post',   `${repo}${hook}/test`,                 admin(read),                     testHook), // where `test_url` leads
  at('post',   `${repo}${hook}/triggers`,             admin(write),                    triggerEvent),

  at('get',    org,                                   member,                          getOrganization),
  at('get',    `${org}/hooks`,                        admin(organizationHooks),        listHooks),
  at('post',   `${org}/hooks`,                        admin(organizationHooks),        createHook),
  at('get',    `${org}${hook}`,                       admin(organizationHooks),        getHook),
  at('patch',  `${org}${hook}`,                       admin(organizationHooks),        updateHook),
  at('delete', `${org}${hook}`,                       admin(organizationHooks),        deleteHook),
  at('get',    `${org}${hook}/config`,                admin(organizationHooks),        getHookConfig),
  at('patch',  `${org}${hook}/config`,                admin(organizationHooks),        updateHookConfig),
  at('get',    `${org}${hook}/deliveries`,            admin(organizationHooks),        listDeliveries),
  at('get',    `${org}${hook}/deliveries/stream`,     admin(organizationHooks),        streamDeliveries),
  at('get',    `${org}${replays}`,                    admin(organizationHooks),        listReplays),
  at('post',   `${org}${replays}`,                    admin(organizationHooks),        createReplay),
  at('get',    `${org}${replays}/{replay_id}`,        admin(organizationHooks),        getReplay),
  at('delete', `${org}${replays}/{replay_id}`,        admin(organizationHooks),        stopReplay),
  at('get',    `${org}${delivery}`,                   admin(organizationHooks),        getDelivery),
  at('get',    `${org}${delivery}/explain`,           admin(organizationHooks),        explainDelivery),
  at('get',    `${org}${hook}/explain`,               admin(organizationHooks),        explainAtHook),
  at('get',    `${org}${hook}/stats`,                 admin(organizationHooks),        getHookStats),
  at('post',   `${org}${delivery}/attempts`,          admin(organizationHooks),        redeliver),
  at('get',    `${org}${hook}/socket`,                admin(organizationHooks),        connectListener),
  at('post',   `${org}${hook}/pings`,                 admin(organizationHooks),        pingHook),
  at('post',   `${org}${hook}/triggers`,              admin(organizationHooks),        triggerEvent),

  at('get',    `${org}/repos`,                        admin(organizationRepositories), listRepositories),
  at('post',   `${org}/repos`,                        admin(organizationRepositories), createRepository),
  at('get',    `${org}/delivery-status`,              admin(scopes.deliveryStatus),    getDeliveryStatus),
  at('get',    `${org}/stats`,                        admin(scopes.deliveryStatus),    getOrganizationStats),
  at('get',    `${org}/webhooks`,                     admin(scopes.allHooks),          listOrganizationHooks),
  at('get',    `${org}/members`,                      { ...member, scopes: scopes.members }, listMembers),
  at('get',    `${org}/members/{username}`,           { ...member, scopes: scopes.members }, checkMember),
  at('get',    `${org}/memberships/{subject}`,        admin(organization),             getMembership),
  at('put',    `${org}/memberships/{subject}`,        admin(organization),             setMembership),
  at('delete', `${org}/memberships/{subject}`,        admin(organization),             removeMembership),
  at('get',    `${org}/oauth-app-policy`,             ownAdmin,                        getPolicy),
  at('put',    `${org}/oauth-app-policy`,             ownAdmin,                        setPolicy),
  at('get',    approvals,                             ownAdmin,                        listApprovals),
  at('put',    `${approvals}/{client_id}`,            ownAdmin,                        approve),
  at('delete', `${approvals}/{client_id}`,            ownAdmin,                        revokeApproval),

  at('post',   '/admin/organizations',                site,                            createOrganization),
  at('get',    '/admin/organizations',                site,                            listOrganizations),
  at('delete', '/admin/organizations/{org}',          site,                            deleteOrganization),
  at('put',    '/admin/organizations/{org}/pause',    site,                            pauseOrganization),
  at('delete', '/admin/organizations/{org}/pause',    site,                            resumeOrganization),
  at('put',    `/admin${hook}/pause`,                 site,                            pauseHook),
  at('delete', `/admin${hook}/pause`,                 site,                            resumeHook),
  at('get',    '/admin/status',                       site,                            getStatus),
  at('get',    '/admin/stats',                        site,                            getAllStats),
  at('get',    '/admin/events/{guid}',                site,                            findEvent),
  at('get',    deadLetters,                           site,                            listDeadLetters),
  at('delete', deadLetters,                           site,                            dropDeadLetters),
  at('post',   `${deadLetters}/attempts`,             site,                            publishDeadLetters),
  at('get',    `${deadLetters}/{letter_id}`,          site,                            getDeadLetter),
  at('delete', `${deadLetters}/{letter_id}`,          site,                            dropDeadLetter),
  at('post',   `${deadLetters}/{letter_id}/attempts`, site,                            publishDeadLetter),
  at('post',   '/admin/secrets/reseal',               site,                            resealSecrets),

  at('get',    '/accounts/{login}/events/{guid}/explain', site,                        explainEvent),
  at('get',    '/accounts/{login}/waiting',           site,                            listWaiting),
  at('get',    '/accounts/{login}/stats',             site,                            getAccountStats),
  at('get',    '/accounts/{login}/webhooks',          site,                            listAccountHooks),
  at('get',    '/accounts/{login}/throttle',          site,                            getThrottle),
  at('put',    '/accounts/{login}/throttle',          site,                            setThrottle),
  at('delete', '/accounts/{login}/throttle',          site,                            removeThrottle),

  at('get',    '/user',                               any,                             getAuthenticatedUser),
  at('get',    '/user/memberships/orgs',              { ...any, scopes: scopes.members }, listOwnMemberships),
  at('get',    '/user/memberships/orgs/{org}',        { ...member, scopes: scopes.members }, getOwnMembership),
  at('get',    '/user/orgs',                          { ...any, scopes: scopes.members }, listOwnOrganizations),
  at('get',    '/users/{username}',                   any,                             getUser),
  at('get',    '/repositories/{repository_id}',       any,                             getRepositoryById),
  at('get',    '/organizations/{organization_id}',    any,                             getOrganizationById),
  at('post',   '/api/graphql',                        any,                             askGraphql),
  at('post',   '/graphql',                            any,                             askGraphql), // where api.github.com has it

  at('get',    '/',                                   open,                            getRoot),
  at('get',    '/meta',                               open,                            getMeta),
  at('get',    '/versions',                           open,                            getVersions),
  at('get',    '/zen',                                open,                            getZen),
  at('get',    '/octocat',                            open,                            getOctocat),
  at('get',    '/event-types',                        open,                            listEventTypes),
  at('get',    '/rate_limit',                         open,                            getRateLimit),
  at('get',    '/.well-known/oauth-protected-resource', open,                          getProtectedResource),
  at('get',    '/openapi.json',                       open,                            getOpenApi),
  at('get',    '/docs',                               open,                            getDocs),
  at('get',    '/docs/viewer.js',                     open,                            getDocsScript),
];
