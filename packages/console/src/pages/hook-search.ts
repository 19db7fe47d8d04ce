/** What the address of a hook's page says behind the `?`: which part of it is shown, and what of its deliveries. */
const tabs = ['replays', 'find', 'test', 'settings', 'verify'] as const;

export type HookTab = 'deliveries' | (typeof tabs)[number];

export type Filter = {
  status?: 'success' | 'failure';
  /** Part of the event's name and action, such as `issues.opened`. */
  event?: string;
  /** Part of it; of the event that is looked for the whole. */
  guid?: string;
  throttled?: true;
};

export type HookSearch = Filter & { tab?: Exclude<HookTab, 'deliveries'> };

export function validateSearch({ tab, status, event, guid, throttled }: Record<string, unknown>): HookSearch {
  const found = tabs.find((name) => name === tab);
  return {
    ...(found && { tab: found }),
    ...((status === 'success' || status === 'failure') && { status }),
    ...(typeof event === 'string' && event !== '' && { event }),
    // What looks like a number is read as one.
    ...((typeof guid === 'string' || typeof guid === 'number') && guid !== '' && { guid: String(guid) }),
    ...(throttled === true && { throttled }),
  };
}

export const isGuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
