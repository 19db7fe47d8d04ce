/** The URL where GitHub documents an operation on hooks, which its errors name. */
import type { Family } from '../http/operation.ts';

export const githubDocs = (repositoryAnchor: string, organizationAnchor: string) => (family: Family) =>
  family === 'repos'
    ? `https://docs.github.com/rest/repos/webhooks#${repositoryAnchor}`
    : `https://docs.github.com/rest/orgs/webhooks#${organizationAnchor}`;
