/** The query of a hook page's address: which part of it is shown, and which deliveries. */
import { type OverviewSearch, validateOverviewSearch } from './overview-search.ts';

const tabs = ['overview', 'replays', 'find', 'test', 'settings', 'verify'] as const;

export type HookTab = 'deliveries' | (typeof tabs)[number];

/** In the API's form. */
export type Filter = {
  status?: 'success' | 'failure';
  event?: string;
  action?: string;
  guid?: string;
  since?: string;
  until?: string;
  throttled?: boolean;
};

export type HookSearch = Filter & OverviewSearch & { tab?: Exclude<HookTab, 'deliveries'> };

export function validateSearch(given: Record<string, unknown>): HookSearch {
  const { tab, status, event, action, guid, since, until, throttled } = given;
  const found = tabs.find((name) => name === tab);
  return {
    ...validateOverviewSearch(given),
    ...(found && { tab: found }),
    ...((status === 'success' || status === 'failure') && { status }),
    ...(isText(event) && { event }),
    ...(isText(action) && { action }),
    // A text that looks like a number has been parsed as one.
    ...((isText(guid) || typeof guid === 'number') && { guid: String(guid) }),
    ...(isTime(since) && { since }),
    ...(isTime(until) && { until }),
    ...(typeof throttled === 'boolean' && { throttled }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isTime = (value: unknown): value is string => isText(value) && !Number.isNaN(Date.parse(value));

export const isGuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
