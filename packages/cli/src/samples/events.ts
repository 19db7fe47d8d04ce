/** GitHub's 20 most used events, those with a sample. */
export const sampleEvents = [
  'push',
  'pull_request',
  'issues',
  'issue_comment',
  'pull_request_review',
  'pull_request_review_comment',
  'create',
  'delete',
  'release',
  'workflow_run',
  'workflow_job',
  'check_run',
  'check_suite',
  'deployment',
  'deployment_status',
  'status',
  'fork',
  'star',
  'commit_comment',
  'repository',
] as const;

export type SampleEvent = (typeof sampleEvents)[number];
