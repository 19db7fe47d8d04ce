/** The repository or organization that a command applies to. */
import type { Context, Option } from './command.ts';
import { usage } from './problem.ts';

export const placeOptions: readonly Option[] = [
  { name: 'repo', value: 'OWNER/NAME', summary: 'the repository (else GATEPOST_REPO)' },
  { name: 'org', value: 'LOGIN', summary: 'the organization itself' },
];

export type Place = { owner: string; repository: string | undefined; path: string; name: string };

export function placeOf({ flags, env }: Pick<Context, 'flags' | 'env'>): Place {
  const [given, org] = [flags.text('repo'), flags.text('org')];
  if (given !== undefined && org !== undefined) throw usage('--repo or --org, not both');
  if (org !== undefined)
    return { owner: org, repository: undefined, path: `/orgs/${encodeURIComponent(org)}`, name: org };
  const repo = given ?? env.GATEPOST_REPO;
  if (repo === undefined) throw usage('which repository or organization?', '--repo OWNER/NAME or --org LOGIN');
  const [owner = '', repository = '', more] = repo.split('/');
  if (!owner || !repository || more !== undefined) throw usage(`${repo} is not OWNER/NAME`);
  return {
    owner,
    repository,
    path: `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`,
    name: repo,
  };
}

/** The options that named the place, for commands that are shown; those that were not given need none. */
export function placeGiven({ flags }: Pick<Context, 'flags'>): string {
  const [repo, org] = [flags.text('repo'), flags.text('org')];
  return (repo === undefined ? '' : ` --repo ${repo}`) + (org === undefined ? '' : ` --org ${org}`);
}

/** A number in a path. */
export function idOf(text: string | undefined, what: string): string {
  if (text !== undefined && /^\d{1,16}$/.test(text)) return text;
  throw usage(`${what} is a number, not ${text}`);
}

export function numberOf(
  text: string | undefined,
  what: string,
  fallback: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (text === undefined) return fallback;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0 && number <= most) return number;
  throw usage(`--${what} is a whole number from 1 to ${most}`);
}
