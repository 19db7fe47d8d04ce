/**
 * A payload for each of GitHub's 20 most used events (https://docs.github.com/webhooks/webhook-events-and-payloads): made for a place, and
 * valid by GitHub's published schema, which a test checks. Everything not given takes place in a small repository with one branch.
 */
import type { SampleEvent } from './events.ts';
import { type Json, nodeId, sampleRepository, type Where } from './place.ts';

const head = '6113728f27ae82c7b1a177c8d03f9e96e0adf246';
const base = 'd6fde92930d4715a2b49857d24b940956b26d2d3';
const tree = 'f9d2a07e9488b91af2641b26b9407fe22a451433';
const branch = 'mend-the-gate';

/** The payload of an event in that place. No two parts of it are one object: whoever changes one changes no other. */
export function makeSample(event: SampleEvent, where: Where): Json {
  const { repository, organization, sender } = where;
  const sample = { ...makers[event](where), repository, ...(organization && { organization }), sender };
  return JSON.parse(JSON.stringify(sample)); // structuredClone would keep what is shared
}

const makers: Record<SampleEvent, (where: Where) => Json> = {
  push: ({ repository, sender, at }) => ({
    ref: `refs/heads/${repository.default_branch}`,
    before: base,
    after: head,
    base_ref: null,
    created: false,
    deleted: false,
    forced: false,
    compare: `${repository.html_url}/compare/${base.slice(0, 12)}...${head.slice(0, 12)}`,
    commits: [commit(repository, sender, at)],
    head_commit: commit(repository, sender, at),
    pusher: { name: sender.login, email: 'dev@example.com' },
  }),
  pull_request: (where) => ({ action: 'opened', number: 7, pull_request: pullRequest(where) }),
  issues: (where) => ({ action: 'opened', issue: issue(where) }),
  issue_comment: (where) => ({
    action: 'created',
    issue: { ...issue(where), comments: 1 },
    comment: issueComment(where),
  }),
  pull_request_review: (where) => ({ action: 'submitted', review: review(where), pull_request: simplePull(where) }),
  pull_request_review_comment: (where) => ({
    action: 'created',
    comment: reviewComment(where),
    pull_request: simplePull(where),
  }),
  create: ({ repository }) => ({
    ref: branch,
    ref_type: 'branch',
    master_branch: repository.default_branch,
    description: repository.description,
    pusher_type: 'user',
  }),
  delete: () => ({ ref: branch, ref_type: 'branch', pusher_type: 'user' }),
  release: (where) => ({ action: 'published', release: release(where) }),
  workflow_run: (where) => ({ action: 'completed', workflow_run: workflowRun(where), workflow: workflow(where) }),
  workflow_job: (where) => ({ action: 'completed', workflow_job: workflowJob(where) }),
  check_run: (where) => ({ action: 'completed', check_run: checkRun(where) }),
  check_suite: (where) => ({ action: 'completed', check_suite: checkSuite(where) }),
  deployment: (where) => ({ action: 'created', deployment: deployment(where), workflow: null, workflow_run: null }),
  deployment_status: (where) => ({
    action: 'created',
    deployment_status: deploymentStatus(where),
    deployment: deployment(where),
    check_run: null,
    workflow: null,
    workflow_run: null,
  }),
  status: ({ repository, sender, at }) => ({
    id: 6805126730,
    sha: head,
    name: repository.full_name,
    target_url: 'https://ci.example/builds/77',
    avatar_url: sender.avatar_url,
    context: 'ci/build',
    description: 'Build 77 has passed',
    state: 'success',
    commit: gitCommit(repository, sender, at),
    branches: [
      {
        name: repository.default_branch,
        commit: { sha: head, url: `${repository.url}/commits/${head}` },
        protected: false,
      },
    ],
    created_at: at,
    updated_at: at,
  }),
  fork: ({ repository, sender }) => ({
    forkee: {
      ...sampleRepository(sender.login, repository.name, apiOf(repository), repository.id + 1),
      owner: sender,
      fork: true,
      private: repository.private,
      public: !repository.private,
    },
  }),
  star: ({ at }) => ({ action: 'created', starred_at: at }),
  commit_comment: ({ repository, sender, at }) => ({
    action: 'created',
    comment: {
      url: `${repository.url}/comments/33548674`,
      html_url: `${repository.html_url}/commit/${head}#commitcomment-33548674`,
      id: 33548674,
      node_id: nodeId('CommitComment', 33548674),
      user: sender,
      position: null,
      line: null,
      path: null,
      commit_id: head,
      created_at: at,
      updated_at: at,
      author_association: 'OWNER',
      body: 'This mends the gate.',
      reactions: reactions(`${repository.url}/comments/33548674`),
    },
  }),
  repository: () => ({ action: 'created' }),
};

const apiOf = ({ url, full_name }: Json): string => url.slice(0, -`/repos/${full_name}`.length);

const person = { name: 'Alice Example', email: 'dev@example.com' };
const headCommit = (at: string): Json => ({
  id: head,
  tree_id: tree,
  message: 'Mend the gate',
  timestamp: at,
  author: person,
  committer: person,
});

function commit({ html_url }: Json, { login }: Json, at: string): Json {
  return {
    id: head,
    tree_id: tree,
    distinct: true,
    message: 'Mend the gate',
    timestamp: at,
    url: `${html_url}/commit/${head}`,
    author: { ...person, username: login },
    committer: { ...person, username: login },
    added: ['hinge.txt'],
    removed: [],
    modified: ['README.md'],
  };
}

function gitCommit({ url, html_url }: Json, sender: Json, at: string): Json {
  const signed = { ...person, date: at };
  return {
    sha: head,
    node_id: nodeId('Commit', 1),
    commit: {
      author: signed,
      committer: signed,
      message: 'Mend the gate',
      tree: { sha: tree, url: `${url}/git/trees/${tree}` },
      url: `${url}/git/commits/${head}`,
      comment_count: 0,
      verification: { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
    },
    url: `${url}/commits/${head}`,
    html_url: `${html_url}/commit/${head}`,
    comments_url: `${url}/commits/${head}/comments`,
    author: sender,
    committer: sender,
    parents: [{ sha: base, url: `${url}/commits/${base}`, html_url: `${html_url}/commit/${base}` }],
  };
}

const reactions = (url: string): Json => ({
  url: `${url}/reactions`,
  total_count: 0,
  '+1': 0,
  '-1': 0,
  laugh: 0,
  hooray: 0,
  confused: 0,
  heart: 0,
  rocket: 0,
  eyes: 0,
});

function issue({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/issues/7`;
  return {
    url,
    repository_url: repository.url,
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: `${repository.html_url}/issues/7`,
    id: 444500041,
    node_id: nodeId('Issue', 444500041),
    number: 7,
    title: 'The gate squeaks',
    user: sender,
    labels: [label(repository)],
    state: 'open',
    locked: false,
    assignee: null,
    assignees: [],
    milestone: null,
    comments: 0,
    created_at: at,
    updated_at: at,
    closed_at: null,
    author_association: 'OWNER',
    active_lock_reason: null,
    body: 'It does so in the rain only. A drop of oil?',
    reactions: reactions(url),
    timeline_url: `${url}/timeline`,
    performed_via_github_app: null,
    state_reason: null,
  };
}

const label = ({ url }: Json): Json => ({
  id: 1362934389,
  node_id: nodeId('Label', 1362934389),
  url: `${url}/labels/bug`,
  name: 'bug',
  color: 'd73a4a',
  default: true,
  description: 'Something does not work',
});

function issueComment({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/issues/comments/492700400`;
  return {
    url,
    html_url: `${repository.html_url}/issues/7#issuecomment-492700400`,
    issue_url: `${repository.url}/issues/7`,
    id: 492700400,
    node_id: nodeId('IssueComment', 492700400),
    user: sender,
    created_at: at,
    updated_at: at,
    author_association: 'OWNER',
    performed_via_github_app: null,
    body: 'I have brought the oil.',
    reactions: reactions(url),
  };
}

/** A pull request as shown in reviews. */
function simplePull({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/pulls/7`;
  const issueUrl = `${repository.url}/issues/7`;
  const end = (ref: string, sha: string) => ({
    label: `${repository.owner.login}:${ref}`,
    ref,
    sha,
    user: repository.owner,
    repo: { ...repository },
  });
  const links = {
    self: url,
    html: `${repository.html_url}/pull/7`,
    issue: issueUrl,
    comments: `${issueUrl}/comments`,
    review_comments: `${url}/comments`,
    review_comment: `${repository.url}/pulls/comments{/number}`,
    commits: `${url}/commits`,
    statuses: `${repository.url}/statuses/${head}`,
  };
  return {
    url,
    id: 279147437,
    node_id: nodeId('PullRequest', 279147437),
    html_url: links.html,
    diff_url: `${links.html}.diff`,
    patch_url: `${links.html}.patch`,
    issue_url: issueUrl,
    number: 7,
    state: 'open',
    locked: false,
    title: 'Mend the gate',
    user: sender,
    body: 'A new hinge. Closes #6.',
    created_at: at,
    updated_at: at,
    closed_at: null,
    merged_at: null,
    merge_commit_sha: null,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: [label(repository)],
    milestone: null,
    draft: false,
    commits_url: links.commits,
    review_comments_url: links.review_comments,
    review_comment_url: links.review_comment,
    comments_url: links.comments,
    statuses_url: links.statuses,
    head: end(branch, head),
    base: end(repository.default_branch, base),
    _links: Object.fromEntries(Object.entries(links).map(([name, href]) => [name, { href }])),
    author_association: 'OWNER',
    auto_merge: null,
    active_lock_reason: null,
  };
}

const pullRequest = (where: Where): Json => ({
  ...simplePull(where),
  merged: false,
  mergeable: null,
  rebaseable: null,
  mergeable_state: 'unknown',
  merged_by: null,
  comments: 0,
  review_comments: 0,
  maintainer_can_modify: false,
  commits: 1,
  additions: 2,
  deletions: 1,
  changed_files: 2,
});

function review({ repository, sender, at }: Where): Json {
  const html_url = `${repository.html_url}/pull/7#pullrequestreview-237895671`;
  return {
    id: 237895671,
    node_id: nodeId('PullRequestReview', 237895671),
    user: sender,
    body: 'The hinge is a good one.',
    commit_id: head,
    submitted_at: at,
    updated_at: at,
    state: 'approved',
    html_url,
    pull_request_url: `${repository.url}/pulls/7`,
    author_association: 'OWNER',
    _links: { html: { href: html_url }, pull_request: { href: `${repository.url}/pulls/7` } },
  };
}

function reviewComment({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/pulls/comments/284312630`;
  const html_url = `${repository.html_url}/pull/7#discussion_r284312630`;
  return {
    url,
    pull_request_review_id: 237895671,
    id: 284312630,
    node_id: nodeId('PullRequestReviewComment', 284312630),
    diff_hunk: '@@ -1 +1,2 @@\n-# widgets\n+# widgets\n+With a new hinge.',
    path: 'README.md',
    position: 2,
    original_position: 2,
    commit_id: head,
    original_commit_id: head,
    user: sender,
    body: 'Which one?',
    created_at: at,
    updated_at: at,
    html_url,
    pull_request_url: `${repository.url}/pulls/7`,
    author_association: 'OWNER',
    _links: { self: { href: url }, html: { href: html_url }, pull_request: { href: `${repository.url}/pulls/7` } },
    reactions: reactions(url),
    start_line: null,
    original_start_line: null,
    start_side: null,
    line: 2,
    original_line: 2,
    side: 'RIGHT',
    subject_type: 'line',
  };
}

function release({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/releases/17372790`;
  return {
    url,
    assets_url: `${url}/assets`,
    upload_url: `${url}/assets{?name,label}`,
    html_url: `${repository.html_url}/releases/tag/v1.2.0`,
    id: 17372790,
    node_id: nodeId('Release', 17372790),
    tag_name: 'v1.2.0',
    target_commitish: repository.default_branch,
    name: 'A quiet gate',
    draft: false,
    immutable: false,
    author: sender,
    prerelease: false,
    created_at: at,
    updated_at: at,
    published_at: at,
    assets: [],
    tarball_url: `${repository.url}/tarball/v1.2.0`,
    zipball_url: `${repository.url}/zipball/v1.2.0`,
    body: '- A new hinge',
  };
}

function workflow({ repository, at }: Where): Json {
  return {
    id: 1568392,
    node_id: nodeId('Workflow', 1568392),
    name: 'CI',
    path: '.github/workflows/ci.yml',
    state: 'active',
    created_at: at,
    updated_at: at,
    url: `${repository.url}/actions/workflows/1568392`,
    html_url: `${repository.html_url}/blob/${repository.default_branch}/.github/workflows/ci.yml`,
    badge_url: `${repository.html_url}/workflows/CI/badge.svg`,
  };
}

function workflowRun({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/actions/runs/289782451`;
  return {
    id: 289782451,
    name: 'CI',
    node_id: nodeId('WorkflowRun', 289782451),
    head_branch: repository.default_branch,
    head_sha: head,
    path: '.github/workflows/ci.yml',
    display_title: 'Mend the gate',
    run_number: 77,
    event: 'push',
    status: 'completed',
    conclusion: 'success',
    workflow_id: 1568392,
    check_suite_id: 118578147,
    check_suite_node_id: nodeId('CheckSuite', 118578147),
    url,
    html_url: `${repository.html_url}/actions/runs/289782451`,
    pull_requests: [],
    created_at: at,
    updated_at: at,
    actor: sender,
    triggering_actor: sender,
    run_attempt: 1,
    run_started_at: at,
    referenced_workflows: [],
    jobs_url: `${url}/jobs`,
    logs_url: `${url}/logs`,
    check_suite_url: `${repository.url}/check-suites/118578147`,
    artifacts_url: `${url}/artifacts`,
    cancel_url: `${url}/cancel`,
    rerun_url: `${url}/rerun`,
    previous_attempt_url: null,
    workflow_url: `${repository.url}/actions/workflows/1568392`,
    head_commit: headCommit(at),
    repository,
    head_repository: repository,
  };
}

function workflowJob({ repository, at }: Where): Json {
  const step = (name: string, number: number) => ({
    name,
    status: 'completed',
    conclusion: 'success',
    number,
    started_at: at,
    completed_at: at,
  });
  return {
    id: 2832853555,
    run_id: 289782451,
    run_url: `${repository.url}/actions/runs/289782451`,
    run_attempt: 1,
    node_id: nodeId('CheckRun', 2832853555),
    head_sha: head,
    head_branch: repository.default_branch,
    workflow_name: 'CI',
    url: `${repository.url}/actions/jobs/2832853555`,
    html_url: `${repository.html_url}/runs/2832853555`,
    status: 'completed',
    conclusion: 'success',
    created_at: at,
    started_at: at,
    completed_at: at,
    name: 'test',
    steps: [step('Check out', 1), step('Test', 2)],
    check_run_url: `${repository.url}/check-runs/2832853555`,
    labels: ['linux'],
    runner_id: 1,
    runner_name: 'runner-1',
    runner_group_id: 1,
    runner_group_name: 'Default',
  };
}

function app({ repository, at }: Where): Json {
  return {
    id: 29310,
    slug: 'ci-example',
    node_id: nodeId('App', 29310),
    owner: repository.owner,
    name: 'CI',
    description: null,
    external_url: 'https://ci.example',
    html_url: 'https://ci.example/app',
    created_at: at,
    updated_at: at,
    permissions: { checks: 'write', contents: 'read', metadata: 'read' },
    events: ['push'],
  };
}

function checkRun(where: Where): Json {
  const { repository, at } = where;
  const url = `${repository.url}/check-runs/128620228`;
  return {
    id: 128620228,
    node_id: nodeId('CheckRun', 128620228),
    name: 'test',
    head_sha: head,
    external_id: 'build-77',
    url,
    html_url: `${repository.html_url}/runs/128620228`,
    details_url: 'https://ci.example/builds/77',
    status: 'completed',
    conclusion: 'success',
    started_at: at,
    completed_at: at,
    output: {
      title: 'All tests have passed',
      summary: '312 tests',
      text: null,
      annotations_count: 0,
      annotations_url: `${url}/annotations`,
    },
    app: app(where),
    pull_requests: [],
    check_suite: {
      id: 118578147,
      node_id: nodeId('CheckSuite', 118578147),
      head_branch: repository.default_branch,
      head_sha: head,
      status: 'completed',
      conclusion: 'success',
      url: `${repository.url}/check-suites/118578147`,
      before: base,
      after: head,
      pull_requests: [],
      app: app(where),
      created_at: at,
      updated_at: at,
      repository,
    },
  };
}

function checkSuite(where: Where): Json {
  const { repository, at } = where;
  const url = `${repository.url}/check-suites/118578147`;
  return {
    id: 118578147,
    node_id: nodeId('CheckSuite', 118578147),
    head_branch: repository.default_branch,
    head_sha: head,
    status: 'completed',
    conclusion: 'success',
    url,
    before: base,
    after: head,
    pull_requests: [],
    app: app(where),
    created_at: at,
    updated_at: at,
    latest_check_runs_count: 1,
    check_runs_url: `${url}/check-runs`,
    head_commit: headCommit(at),
  };
}

function deployment({ repository, sender, at }: Where): Json {
  const url = `${repository.url}/deployments/145988746`;
  return {
    url,
    id: 145988746,
    node_id: nodeId('Deployment', 145988746),
    sha: head,
    ref: repository.default_branch,
    task: 'deploy',
    payload: {},
    original_environment: 'production',
    environment: 'production',
    transient_environment: false,
    production_environment: true,
    description: null,
    creator: sender,
    created_at: at,
    updated_at: at,
    statuses_url: `${url}/statuses`,
    repository_url: repository.url,
    performed_via_github_app: null,
  };
}

function deploymentStatus({ repository, sender, at }: Where): Json {
  const deploymentUrl = `${repository.url}/deployments/145988746`;
  return {
    url: `${deploymentUrl}/statuses/209916254`,
    id: 209916254,
    node_id: nodeId('DeploymentStatus', 209916254),
    state: 'success',
    creator: sender,
    description: 'Deployed',
    environment: 'production',
    environment_url: 'https://widgets.example',
    log_url: 'https://ci.example/builds/77',
    target_url: 'https://ci.example/builds/77',
    created_at: at,
    updated_at: at,
    deployment_url: deploymentUrl,
    repository_url: repository.url,
  };
}
