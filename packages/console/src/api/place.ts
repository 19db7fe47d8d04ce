/** Where hooks stand: an organization, or one of its repositories. */
export type Place = { owner: string; repo?: string };

/** Of the API, and of the console's own pages, which have the API's paths. */
export function placePath({ owner, repo }: Place): string {
  const parts = repo === undefined ? ['orgs', owner] : ['repos', owner, repo];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

export const placeName = ({ owner, repo }: Place): string => (repo === undefined ? owner : `${owner}/${repo}`);
