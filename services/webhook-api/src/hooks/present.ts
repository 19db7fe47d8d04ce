/** Hooks as clients see them (docs/reference/webhooks-api.md#hooks). The only place where a hook's secrets are masked. */

import { deliveryStatus } from '@gatepost/contracts/delivery';
import type { Seal } from '@gatepost/runtime/seal';
import { z } from 'zod';
import type { PlaceNames } from '../access/place.ts';
import { type Family, ours } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import { successRate } from '../stats/success-rate.ts';
import { maskUrl, splitUrl } from './credentials.ts';
import { mask } from './mask.ts';
import { overlapEnd } from './overlap.ts';
import type { HookRow } from './rows.ts';
import { openHeaders } from './stored.ts';

const droppedSchema = z
  .string()
  .optional()
  .meta({
    ...ours,
    description:
      'Only in the answer to an update that changed scheme, host or port of the URL: the custom request headers that it dropped because they were not given again, separated by commas',
  });

export const configSchema = z
  .object({
    url: z.url(),
    content_type: z.enum(['json', 'form']),
    insecure_ssl: z.enum(['0', '1']),
    secret: z.literal(mask).optional().meta({ description: 'Only there when a secret is set' }),
    dropped_headers: droppedSchema,
  })
  .meta({ id: 'HookConfig' });

const lastResponseSchema = z
  .object({ code: z.int().nullable(), status: z.string().nullable(), message: z.string().nullable() })
  .meta({ id: 'HookResponse' });

const time = z.iso.datetime();

const healthSchema = z
  .object({
    last_status: z
      .string()
      .nullable()
      .meta({ description: 'Of its newest delivery: `OK`, or what went wrong; null: the log has none' }),
    last_status_code: z.int().nullable(),
    last_delivery_at: time.nullable(),
    delivered: z.int().meta({ description: 'Attempts in the last 24 hours that were answered 2xx' }),
    failed: z.int().meta({ description: 'All other attempts in that time' }),
    success_rate: z
      .number()
      .nullable()
      .meta({ description: 'Share of attempts that were delivered; null: there were none' }),
  })
  .optional()
  .meta({ ...ours, description: 'How its deliveries are doing; in lists, and when a single hook is read' });

const organizationHookSchema = z
  .object({
    type: z.literal('Organization'),
    id: z.int(),
    name: z.enum(['web', 'cli']),
    ws_url: z
      .url()
      .optional()
      .meta({
        ...ours,
        description: 'Only for a `cli` hook: the WebSocket through which its deliveries go to whoever listens',
      }),
    active: z.boolean(),
    events: z.array(z.string()),
    config: configSchema,
    retry: z.enum(['on', 'off']).meta({ ...ours, description: 'Whether failures are followed by automatic attempts' }),
    request_headers: z.record(z.string(), z.literal(mask)).meta({ ...ours, description: 'Custom request headers' }),
    previous_secret_until: time
      .nullable()
      .meta({ ...ours, description: 'Until when the previous secret also signs; null: it does not' }),
    updated_at: time,
    created_at: time,
    url: z.url(),
    ping_url: z.url(),
    deliveries_url: z.url(),
    health: healthSchema,
    disabled_reason: z
      .literal('oauth_app_restricted')
      .nullable()
      .meta({ ...ours, description: 'Why nothing is delivered although the user wants it' }),
    dropped_headers: droppedSchema,
  })
  .meta({ id: 'OrganizationHook' });

const repositoryHookSchema = organizationHookSchema
  .extend({ type: z.literal('Repository'), test_url: z.url(), last_response: lastResponseSchema })
  .meta({ id: 'RepositoryHook' });

export const hookSchema = (family: Family) => (family === 'repos' ? repositoryHookSchema : organizationHookSchema);

/** A hook's JSON. `base` is the API's root, with the prefix that the request used. */
export function presentHook(row: HookRow, place: PlaceNames, base: string, seal: Seal): Record<string, unknown> {
  const url = `${base}${placePath(place)}/hooks/${row.id}`;
  const until = overlapEnd(row);
  return {
    type: place.repository ? 'Repository' : 'Organization',
    id: row.id,
    name: row.name,
    active: row.active && !row.restricted,
    events: row.events,
    config: presentConfig(row),
    retry: row.retry ? 'on' : 'off',
    request_headers: maskValues(openHeaders(row.headers, seal)),
    previous_secret_until: until && seconds(until),
    updated_at: seconds(row.updated_at),
    created_at: seconds(row.created_at),
    url,
    ...(place.repository ? { test_url: `${url}/test` } : {}),
    ...(row.name === 'cli' ? { ws_url: socketUrl(url) } : {}),
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    ...(place.repository ? { last_response: presentLastResponse(row) } : {}),
    disabled_reason: row.restricted ? 'oauth_app_restricted' : null,
  };
}

/** The WebSocket of a `cli` hook: wss where the API is reached over https. */
export const socketUrl = (hookUrl: string): string => `${hookUrl.replace(/^http/, 'ws')}/socket`;

/** Scalars only: hub4j and others decode it as a map of strings. */
export function presentConfig(row: HookRow): Record<string, unknown> {
  return {
    url: shownUrl(row),
    content_type: row.content_type,
    // A string: go-github and hub4j decode nothing else.
    insecure_ssl: row.insecure_ssl ? '1' : '0',
    ...(row.secret ? { secret: mask } : {}),
  };
}

function shownUrl(row: HookRow): string {
  const { url, credentials } = splitUrl(row.url);
  return maskUrl({ url, has: row.credentials !== null || credentials !== null });
}

/** How the answer to an update reports headers that did not follow the hook to another origin. */
export function presentDropped(names: string[]): { dropped_headers?: string } {
  return names.length === 0 ? {} : { dropped_headers: names.join(', ') };
}

/** The path of an account or repository below the API's root. */
export function placePath(place: PlaceNames): string {
  return place.repository ? `/repos/${place.account.login}/${place.repository.name}` : `/orgs/${place.account.login}`;
}

function maskValues(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, mask]));
}

/** Not included in the hook's JSON that a ping sends to the receiver. */
export function presentHealth({ last_status, last_status_code, last_at, ...day }: HookRow) {
  const [delivered, failed] = [day.day_delivered ?? 0, day.day_failed ?? 0];
  return {
    health: {
      last_status,
      last_status_code,
      last_delivery_at: last_at && seconds(last_at),
      delivered,
      failed,
      success_rate: successRate(delivered, failed),
    },
  };
}

function presentLastResponse(row: HookRow): z.infer<typeof lastResponseSchema> {
  if (row.last_status === null) return { code: null, status: 'unused', message: null };
  const { last_status: message, last_status_code: code } = row;
  if (message === deliveryStatus.ok) return { code, status: 'active', message };
  return { code, status: message === deliveryStatus.timeout ? 'timeout' : 'misconfigured', message };
}
