/** The query of an account page's address. */
import { type OverviewSearch, validateOverviewSearch } from './overview-search.ts';

const tabs = ['overview', 'throttle', 'repositories'] as const;

export type AccountTab = 'hooks' | (typeof tabs)[number];

export type AccountSearch = OverviewSearch & {
  tab?: Exclude<AccountTab, 'hooks'>;
  /** Part of a hook's URL, or its id. */
  q?: string;
  /** The repository whose hooks are shown. */
  repository?: string;
  /** Only hooks whose last delivery failed. */
  status?: 'failure';
};

export function validateAccountSearch(given: Record<string, unknown>): AccountSearch {
  const { tab, q, repository, status } = given;
  const found = tabs.find((name) => name === tab);
  return {
    ...validateOverviewSearch(given),
    ...(found && { tab: found }),
    // A text that looks like a number has been parsed as one.
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(typeof repository === 'string' && repository !== '' && { repository }),
    ...(status === 'failure' && { status }),
  };
}
