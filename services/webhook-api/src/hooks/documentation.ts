/** The URL of GitHub's documentation for an operation on hooks, for use in errors. */
import type { Family } from '../http/operation.ts';

export const githubDocs = (repositoryAnchor: string, organizationAnchor: string) => (family: Family) =>
  family === 'repos'
    ? `https://docs.github.com/rest/repos/webhooks#${repositoryAnchor}`
    : `https://docs.github.com/rest/orgs/webhooks#${organizationAnchor}`;
