/**
 * Features of Auth0 that Gatepost lacks. Tools look for them anyway, and find empty lists and disabled features. A write is accepted if
 * it asks for the current state; otherwise the answer says that nothing else is available.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isRecord } from '../is-record.ts';
import type { Description } from './descriptions.ts';
import { type Operation, ok, operation } from './operation.ts';
import { checkpointQuery, list, ofArray, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { ManagementProblem } from './problem.ts';
import type { Route } from './routes.ts';

const anything = z.record(z.string(), z.unknown());
const paging = z.looseObject({ ...pageQuery, ...checkpointQuery });

/** An empty list of this name. */
const emptyList = (name: string): Operation =>
  operation({ query: paging, run: ({ query }) => list(name, query, ofArray<object>([], String), (item) => item) });
/** The same for lists that Auth0 always answers as an object. */
const emptyNamedList = (name: string): Operation =>
  operation({ run: () => ok({ [name]: [], start: 0, limit: 50, total: 0 }) });

type CurrentValue = object | ((parts: Parts) => Promise<object>);
const resolve = async (current: CurrentValue, parts: Parts) =>
  typeof current === 'function' ? current(parts) : current;

const show = (current: CurrentValue): Operation =>
  operation({ run: async ({ parts }) => ok(await resolve(current, parts)) });

/** Accepts a write only if it changes nothing. */
const acceptUnchanged = (current: CurrentValue): Operation =>
  operation({
    body: z.union([anything, z.array(z.unknown())]),
    async run({ parts, body }) {
      const value = await resolve(current, parts);
      const changed = Array.isArray(body)
        ? isDeepStrictEqual(body, value)
          ? undefined
          : 'the list'
        : differing(body, value);
      if (changed !== undefined) throw featureNotAvailable(`${changed} cannot be changed`);
      return ok(value);
    },
  });

const missingHere = (what: string): Operation =>
  operation({
    run() {
      throw featureNotAvailable(`there is no ${what}`);
    },
  });

/** The path of the first value that differs from the current state. */
function differing(asked: Record<string, unknown>, current: object, path = ''): string | undefined {
  for (const [name, value] of Object.entries(asked)) {
    const here = (current as Record<string, unknown>)[name];
    if (isDeepStrictEqual(value, here) || (here === undefined && isEmpty(value))) continue;
    if (!isRecord(value) || !isRecord(here)) return path + name;
    const inner = differing(value, here, `${path}${name}.`);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

const isEmpty = (value: unknown) =>
  value === null || value === '' || value === false || (typeof value === 'object' && Object.keys(value).length === 0);

export function featureNotAvailable(what: string): ManagementProblem {
  return new ManagementProblem(404, 'feature_not_available', `Gatepost does not have this feature: ${what}`);
}

/** Lists: path, its name in an answer with totals, and its scope. */
const lists: [path: string, name: string, scope: string][] = [
  ['/custom-domains', 'custom_domains', 'read:custom_domains'],
  ['/log-streams', 'log_streams', 'read:log_streams'],
  ['/rules', 'rules', 'read:rules'],
  ['/rules-configs', 'rules_configs', 'read:rules_configs'],
  ['/hooks', 'hooks', 'read:hooks'],
  ['/self-service-profiles', 'self_service_profiles', 'read:self_service_profiles'],
  ['/forms', 'forms', 'read:forms'],
  ['/flows', 'flows', 'read:flows'],
  ['/flows/vault/connections', 'connections', 'read:flows_vault_connections'],
  ['/prompts/rendering', 'configs', 'read:prompts'],
];

/** Lists that Auth0 always answers as an object. */
const namedLists: typeof lists = [
  ['/actions/modules', 'modules', 'read:actions'],
  ['/network-acls', 'network_acls', 'read:network_acls'],
  ['/event-streams', 'eventStreams', 'read:event_streams'],
  ['/rate-limit-policies', 'rate_limit_policies', 'read:rate_limit_policies'],
  ['/token-exchange-profiles', 'token_exchange_profiles', 'read:token_exchange_profiles'],
  ['/user-attribute-profiles', 'user_attribute_profiles', 'read:user_attribute_profiles'],
  ['/connection-profiles', 'connection_profiles', 'read:connection_profiles'],
  ['/connections-directory-provisionings', 'directory_provisionings', 'read:directory_provisionings'],
  ['/connections-scim-configurations', 'scim_configurations', 'read:scim_config'],
  ['/branding/phone/providers', 'providers', 'read:phone_providers'],
  ['/organizations/:id/client-grants', 'client_grants', 'read:organizations'],
  ['/organizations/:id/clients', 'clients', 'read:organizations'],
  ['/organizations/:id/discovery-domains', 'domains', 'read:organizations'],
  ['/branding/phone/templates', 'templates', 'read:phone_templates'],
];

const guardianTemplates = { enrollment_message: '', verification_message: '' };
const twilio = { auth_token: null, from: null, messaging_service_sid: null, sid: null };

/** Settings: path, the value read there, the method Auth0 writes it with, and the resource in its scopes. */
const fixedSettings: [path: string, current: CurrentValue, method: 'patch' | 'put', resource: string][] = [
  // The only provider, which has nothing to set (protection/proof-of-work.ts).
  ['/attack-protection/captcha', { active_provider_id: 'auth_challenge' }, 'patch', 'attack_protection'],
  ['/attack-protection/phone-provider-protection', { type: 'none' }, 'patch', 'attack_protection'],
  ['/prompts/:id/partials', {}, 'put', 'prompts'],
  ['/guardian/factors/phone/message-types', { message_types: [] }, 'put', 'guardian_factors'],
  ['/guardian/factors/phone/selected-provider', { provider: 'auth0' }, 'put', 'guardian_factors'],
  ['/guardian/factors/phone/templates', guardianTemplates, 'put', 'guardian_factors'],
  ['/guardian/factors/phone/providers/twilio', twilio, 'put', 'guardian_factors'],
  ['/guardian/factors/sms/selected-provider', { provider: 'auth0' }, 'put', 'guardian_factors'],
  ['/guardian/factors/sms/templates', guardianTemplates, 'put', 'guardian_factors'],
  ['/guardian/factors/sms/providers/twilio', twilio, 'put', 'guardian_factors'],
  ['/guardian/factors/push-notification/selected-provider', { provider: 'guardian' }, 'put', 'guardian_factors'],
  [
    '/guardian/factors/push-notification/providers/apns',
    { bundle_id: null, sandbox: false, enabled: false },
    'put',
    'guardian_factors',
  ],
  [
    '/guardian/factors/push-notification/providers/sns',
    {
      aws_access_key_id: null,
      aws_secret_access_key: null,
      aws_region: null,
      sns_apns_platform_application_arn: null,
      sns_gcm_platform_application_arn: null,
    },
    'put',
    'guardian_factors',
  ],
  ['/risk-assessments/settings', { enabled: false }, 'patch', 'attack_protection'],
  ['/risk-assessments/settings/new-device', { remember_for: 30 }, 'patch', 'attack_protection'],
  ['/supplemental-signals', { akamai_enabled: false }, 'patch', 'attack_protection'],
];

/** Resources for which Auth0 too answers 404 until somebody sets them up. */
const unconfigured: [path: string, what: string, scope: string][] = [
  ['/emails/provider', 'e-mail provider', 'read:email_provider'],
  ['/branding/themes/default', 'theme', 'read:branding'],
  ['/custom-domains/default', 'custom domain', 'read:custom_domains'],
  ['/keys/custom-signing', 'key of your own', 'read:custom_signing_keys'],
];

export const absentRoutes: Route[] = [
  ...lists.map(([path, name, scope]) => at('get', path, scope, emptyList(name), describeAbsent('List', path, []))),
  ...namedLists.map(([path, name, scope]) =>
    at(
      'get',
      path,
      scope,
      emptyNamedList(name),
      describeAbsent('List', path, { [name]: [], start: 0, limit: 50, total: 0 }),
    ),
  ),
  ...fixedSettings.flatMap(([path, current, method, resource]) => [
    at('get', path, `read:${resource}`, show(current), describeAbsent('Get', path, current)),
    at(method, path, `update:${resource}`, acceptUnchanged(current), describeAbsent('Set', path, current)),
  ]),
  ...unconfigured.map(([path, what, scope]) =>
    at('get', path, scope, missingHere(what), [`Get the ${what}: there is none`, {}]),
  ),
];

function at(
  method: Route['method'],
  path: string,
  scope: string,
  operation: Operation,
  description: Description,
): Route {
  return { method, path, scopes: [scope], operation, description };
}

/** The constant answer is its own example, and the only body that is accepted. */
function describeAbsent(verb: string, path: string, current: CurrentValue): Description {
  const example = typeof current === 'function' ? {} : current;
  const type = Array.isArray(example) ? { type: 'array', items: {} } : { type: 'object' };
  // A list becomes an object when totals are requested.
  const schema = verb === 'List' ? { example } : { ...type, example };
  const what = path
    .slice(1)
    .replace(/\/:\w+/g, '')
    .replaceAll('/', ', ')
    .replaceAll('-', ' ');
  return [
    `${verb} ${what}: not in Gatepost`,
    { 200: { description: 'The current state, which is fixed', schema } },
    verb === 'Set' ? example : undefined,
  ];
}
