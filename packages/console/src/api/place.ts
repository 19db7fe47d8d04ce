/** The place of hooks: an organization, or one of its repositories. */
export type Place = { owner: string; repo?: string };

/** Paths of the API, and of the console's own pages, which use the same ones. */
export function placePath({ owner, repo }: Place): string {
  const parts = repo === undefined ? ['orgs', owner] : ['repos', owner, repo];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

export const placeName = ({ owner, repo }: Place): string => (repo === undefined ? owner : `${owner}/${repo}`);
