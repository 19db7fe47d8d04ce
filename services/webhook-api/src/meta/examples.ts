/** Examples in the description: an organization, its repository, a hook there and a delivery, as answered by the API. */
import { presentPermission } from '../accounts/collaborators.ts';
import { presentMembership } from '../accounts/memberships.ts';
import { mask } from '../hooks/mask.ts';
import { presentOrganization, presentSimpleOrganization } from '../objects/organization.ts';
import { presentRepository } from '../objects/repository.ts';
import { presentProfile, presentUser, userOfSubject } from '../objects/user.ts';
import { presentRoot } from './root.ts';
import { zen } from './zen.ts';

const base = 'http://localhost:4500';
const time = '2026-11-22T10:30:00Z';
const created = new Date(time);
const acme = { id: 1, login: 'acme', createdAt: created };
const widgets = {
  id: 7,
  name: 'widgets',
  createdAt: created,
  updatedAt: created,
  visibility: 'private',
  settings: {},
} as const;
const alice = 'auth0|alice';

const config = { url: 'https://example.com/hook', content_type: 'json', insecure_ssl: '0', secret: mask };

function hook(type: 'Repository' | 'Organization', place: string): object {
  const url = `${base}${place}/hooks/42`;
  return {
    type,
    id: 42,
    name: 'web',
    active: true,
    events: ['push', 'issues'],
    config,
    retry: 'on',
    request_headers: {},
    previous_secret_until: null,
    updated_at: time,
    created_at: time,
    url,
    ...(type === 'Repository' && { test_url: `${url}/test` }),
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    health: {
      last_status: 'OK',
      last_status_code: 200,
      last_delivery_at: time,
      delivered: 1180,
      failed: 20,
      success_rate: 0.9833,
    },
    ...(type === 'Repository' && { last_response: { code: 200, status: 'active', message: 'OK' } }),
    disabled_reason: null,
  };
}

const delivery = {
  id: 1001,
  guid: '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
  delivered_at: time,
  redelivery: false,
  duration: 0.083,
  status: 'OK',
  status_code: 200,
  event: 'issues',
  action: 'opened',
  installation_id: null,
  repository_id: widgets.id,
  throttled_at: null,
  url: config.url,
  attempt: 1,
  sequence: 318,
  error: null,
  timings: { dns: 4.1, connect: 11.8, tls: 24.6, first_byte: 41.2, total: 83.0 },
};

const stream = `retry: 2000\n\nid: ${delivery.id}\nevent: delivery\ndata: ${JSON.stringify(delivery)}\n\n`;

const deadLetter = {
  id: '23a724187731c274a48fc6c9',
  reason: 'not_json',
  detail: 'Unexpected end of JSON input',
  message_id: '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
  event: 'push',
  subject: 'acme/widgets',
  source: 'urn:example:ci',
  occurred_at: time,
  bytes: 7,
};

const waiting = {
  id: 1002,
  reason: 'limit',
  guid: delivery.guid,
  event: 'issues',
  action: 'opened',
  hook_id: 42,
  attempt: 1,
  redelivery: false,
  occurred_at: time,
  throttled_at: time,
  due_at: null,
};

const explanation = {
  guid: delivery.guid,
  event: 'issues',
  action: 'opened',
  place: 'acme/widgets',
  hook_id: 42,
  delivery_id: waiting.id,
  state: 'throttled',
  sentence: 'It waits for its turn: deliveries of acme go out as fast as its limit allows.',
  next: 'Nothing needs to be done. With a larger limit (PUT /accounts/acme/throttle, by an administrator of the installation) it goes out sooner.',
  causes: [],
  since: time,
  until: {
    at: '2026-11-22T10:30:06Z',
    reason: 'Place 120 among those waiting for the limit of acme, which allows 20 per second.',
    place: 120,
    rate: 20,
  },
  duplicates_until: '2026-11-23T10:30:00Z',
  redeliverable: true,
  steps: [
    {
      step: 'occurred',
      at: time,
      exact: true,
      delivery_id: null,
      attempt: null,
      redelivery: null,
      sentence: "The event occurred, by its producer's clock.",
    },
  ],
};

const unsubscribed = {
  cause: 'not_subscribed',
  certain: true,
  sentence: 'The hook does not subscribe to `issues`.',
  next: 'Subscribe: PATCH /repos/acme/widgets/hooks/42 {"add_events": ["issues"]}.',
  reason: null,
};

const neverMade = {
  state: 'never_made',
  sentence: `No delivery was made. ${unsubscribed.sentence}`,
  next: unsubscribed.next,
  causes: [unsubscribed],
};

const counts = {
  delivered: 1180,
  failed: 20,
  success_rate: 0.9833,
  p50_ms: 41.2,
  p95_ms: 180.5,
  throttled: 12,
  retried: 8,
  redelivered: 2,
  came_in: 1190,
};

const rate = { limit: 5000, used: 12, remaining: 4988, reset: 1795348800, resource: 'core' };
const unusedRate = (resource: string) => ({ ...rate, used: 0, remaining: rate.limit, resource });

/** By the name of a schema. */
export const examplesOfSchemas: Record<string, unknown> = {
  AccountHook: {
    ...hook('Repository', '/repos/acme/widgets'),
    repository: { id: widgets.id, name: widgets.name, full_name: 'acme/widgets' },
  },
  Delivery: delivery,
  AdminOrganization: {
    id: acme.id,
    login: acme.login,
    created_at: time,
    paused_at: null,
    repositories: 3,
    hooks: 5,
    members: 2,
    health: { delivered: 11800, failed: 200, success_rate: 0.9833 },
  },
  AdminStatus: {
    queues: [
      { name: 'gatepost.events', messages: 0 },
      { name: 'gatepost.deliveries', messages: 12 },
      { name: 'gatepost.events.dead', messages: 1 },
    ],
    waiting: [{ reason: 'limit', deliveries: 4000, since: time, next_at: null }],
    organizations: [{ login: acme.login, reason: 'limit', deliveries: 4000, since: time }],
    paused: { organizations: [], hooks: [{ id: 42, organization: acme.login, since: time }] },
  },
  CollaboratorPermission: presentPermission(alice, 'admin', base),
  DeadLetter: deadLetter,
  DeadLetterDetail: {
    ...deadLetter,
    headers: { 'cloudEvents:type': 'push', 'x-reason': deadLetter.reason, 'x-detail': deadLetter.detail },
    payload: '{"ref":',
    payload_encoding: 'utf-8',
  },
  DeadLetterSelection: { reason: deadLetter.reason },
  DeliveryDetail: {
    ...delivery,
    request: {
      headers: { 'X-GitHub-Event': 'issues', 'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a…' },
      payload: { action: 'opened', issue: { number: 1, title: 'It squeaks' } },
    },
    response: { headers: { 'content-type': 'text/plain' }, payload: 'thanks' },
  },
  DeliveryStatus: {
    limit: { rate: 20, burst: 40 },
    paused_at: null,
    paused_hooks: [{ id: 42, since: time }],
    waiting: [
      { reason: 'limit', deliveries: 4000, more: false, since: time, next_at: null },
      { reason: 'retry', deliveries: 3, more: false, since: time, next_at: '2026-11-22T10:35:00Z' },
    ],
  },
  EventExplanation: {
    guid: delivery.guid,
    ...neverMade,
    events: [
      {
        source: 'urn:example:ci',
        id: delivery.guid,
        event: 'issues',
        action: 'opened',
        place: 'acme/widgets',
        occurred_at: time,
        received_at: time,
        ...neverMade,
        steps: explanation.steps,
        deliveries: [{ ...explanation, ...neverMade, delivery_id: null, since: null, until: null }],
      },
    ],
    dead_letters: [],
  },
  Explanation: explanation,
  EventType: {
    name: 'push',
    description: 'Commits or tags were pushed, or a branch was created or deleted',
    group: 'github',
  },
  FoundEvent: {
    guid: delivery.guid,
    queued: [],
    events: [
      {
        organization: acme.login,
        repository: widgets.name,
        source: 'urn:example:ci',
        id: delivery.guid,
        event: 'issues',
        action: 'opened',
        occurred_at: time,
        received_at: time,
        routed_at: time,
        unmatched: null,
        hooks: [42],
      },
    ],
    deliveries: [],
    waiting: [waiting],
    dead_letters: [],
  },
  GraphqlAnswer: { data: { viewer: { login: alice } } },
  HookConfig: config,
  HookConfigInput: { url: config.url, content_type: 'json', secret: 'It’s a secret to everybody' },
  HookConfigUpdate: { secret: 'Another secret', previous_secret_until: '2026-11-23T10:30:00Z' },
  HookCreation: {
    name: 'web',
    active: true,
    events: ['push', 'issues'],
    config: { url: config.url, content_type: 'json', secret: 'It’s a secret to everybody' },
  },
  HookUpdate: { active: true, add_events: ['pull_request'] },
  Membership: presentMembership(acme, alice, 'admin', base),
  Meta: { verifiable_password_authentication: false, hooks: ['192.0.2.0/24'], installed_version: '1.2.0' },
  OauthAppApproval: { client_id: 'build-badges', approved_at: time },
  OauthAppPolicy: { enabled: true },
  Organization: presentOrganization(acme, base, 'admin'),
  OrganizationDeletion: {
    dry_run: true,
    organization: acme.login,
    repositories: 3,
    hooks: 5,
    members: 2,
    oauth_app_approvals: 0,
    waiting: 0,
    deliveries: 1200,
  },
  OrganizationHook: hook('Organization', '/orgs/acme'),
  Pause: { paused_at: time, deliveries: 4000 },
  Profile: presentProfile(userOfSubject(alice), created, base),
  Resealed: { resealed: 499, unreadable: [42], next: 511 },
  Repository: presentRepository(acme, widgets, base, 'admin'),
  RepositoryCreation: { name: widgets.name, description: 'What we sell', private: true },
  RepositoryHook: hook('Repository', '/repos/acme/widgets'),
  RepositoryUpdate: { description: 'What we sell', has_issues: true },
  ProtectedResource: {
    resource: 'http://localhost:4500/',
    authorization_servers: ['http://localhost:4400/'],
    bearer_methods_supported: ['header'],
    scopes_supported: ['repo', 'admin:repo_hook', 'admin:org_hook', 'read:org'],
  },
  Replay: {
    id: 12,
    hook_id: 42,
    state: 'running',
    stopped_because: null,
    since: time,
    until: '2026-11-22T11:30:00.000Z',
    status: 'failure',
    events: null,
    total: 1200,
    done: 300,
    failed: 1,
    created_at: '2026-11-22T11:30:00.000Z',
    ended_at: null,
    expected_end_at: '2026-11-22T11:30:08.000Z',
  },
  ReplayRequest: { since: time, status: 'failure', events: ['push'] },
  Root: presentRoot(base),
  SimpleOrganization: presentSimpleOrganization(acme, base),
  Statistics: {
    since: '2026-11-22T10:00:00Z',
    until: '2026-11-22T11:00:00Z',
    resolution: 'hour',
    total: counts,
    points: [{ at: '2026-11-22T10:00:00Z', ...counts, waiting: 4000 }],
    now: {
      waiting: [{ reason: 'limit', deliveries: 4000, more: false, since: time, next_at: null }],
      dead_letters: null,
      dispatchers: null,
      limit: { rate: 20, burst: 40 },
      expected_end_at: '2026-11-22T11:03:20Z',
    },
  },
  Throttle: { rate: 20, burst: 40 },
  Topics: { names: ['hardware', 'gates'] },
  Trigger: { event: 'push', payload: { ref: 'refs/heads/main' }, secret: 'It’s a secret to everybody' },
  TriggeredDelivery: { id: delivery.id, guid: delivery.guid },
  WaitingDelivery: waiting,
  User: presentUser(userOfSubject(alice), base),
};

/** By operation, where its schemas have no names. */
export const examplesOfAnswers: Record<string, unknown> = {
  'admin/drop-dead-letters': { dropped: 12 },
  'admin/publish-dead-letters': { published: 11, left: 1 },
  'meta/get-all-versions': ['2026-03-10', '2022-11-28'],
  'meta/get-docs': '<!doctype html>…',
  'meta/get-docs-script': '/* the viewer */',
  'meta/get-octocat': zen,
  'meta/get-openapi': { openapi: '3.0.3', info: { title: 'Gatepost webhook API' }, paths: {} },
  'orgs/stream-webhook-deliveries': stream,
  'repos/stream-webhook-deliveries': stream,
  'meta/get-zen': zen,
  'meta/get-rate-limit': {
    resources: {
      core: rate,
      search: unusedRate('search'),
      graphql: unusedRate('graphql'),
      integration_manifest: unusedRate('integration_manifest'),
    },
    rate,
  },
};
export const examplesOfBodies: Record<string, unknown> = {
  'admin/create-org': { login: 'acme', admin: alice },
  'meta/graphql': { query: '{ viewer { login } }' },
  'meta/graphql-at-root': { query: '{ viewer { login } }' },
  'admin/reseal-secrets': { after: 0 },
  'orgs/set-membership-for-user': { role: 'member' },
};

/** By the name of a parameter in a path. */
export const examplesOfParameters: Record<string, unknown> = {
  client_id: 'build-badges',
  delivery_id: delivery.id,
  guid: delivery.guid,
  hook_id: 42,
  letter_id: '23a724187731c274a48fc6c9',
  login: acme.login,
  org: acme.login,
  organization_id: acme.id,
  owner: acme.login,
  repo: widgets.name,
  repository_id: widgets.id,
  subject: alice,
  username: alice,
};

const page = `${base}/docs#operation/repos/create-webhook`;
const error = (status: number, message: string, more: object = {}) => ({
  message,
  ...more,
  documentation_url: page,
  status: String(status),
});

/** By status. */
export const examplesOfErrors: Record<number, unknown> = {
  400: error(400, 'Problems parsing JSON'),
  401: error(401, 'Bad credentials'),
  403: { ...error(403, `API rate limit exceeded for ${alice}.`), documentation_url: `${base}/docs#tag/rate-limits` },
  404: error(404, 'Not Found'),
  409: error(409, 'Another replay of this hook is running'),
  413: error(413, 'The body is over 1 MB'),
  415: error(415, 'Unsupported content encoding "odd"'),
  422: error(422, 'Validation Failed', { errors: [{ resource: 'Hook', field: 'url', code: 'missing_field' }] }),
  426: error(426, 'This address is for a WebSocket'),
  429: {
    ...error(429, 'You have exceeded a secondary rate limit. Please wait a few seconds before you try again.'),
    documentation_url: `${base}/docs#tag/secondary-rate-limits`,
  },
  503: error(503, 'Service Unavailable'),
};
