/** Event types that hooks may name, with descriptions: GitHub's for repositories and organizations, the gate's, and the installation's own. */
import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';

/** Descriptions by name; '' if the installation gave none. */
export type EventCatalog = ReadonlyMap<string, string>;

/** The event types of repositories and organizations, of 2026 (https://docs.github.com/webhooks/webhook-events-and-payloads). */
export const githubEvents = {
  branch_protection_configuration: 'Branch protection was switched on or off for a repository',
  branch_protection_rule: 'A branch protection rule was created, edited or deleted',
  check_run: 'A check run was created, completed, rerequested, or asked for an action',
  check_suite: 'A check suite was completed, requested or rerequested',
  code_scanning_alert: 'A code scanning alert appeared or changed',
  commit_comment: 'Somebody commented on a commit',
  create: 'A branch or tag was created',
  custom_property: 'A custom property was defined, changed or deleted',
  custom_property_values: 'Values of custom properties of a repository changed',
  delete: 'A branch or tag was deleted',
  dependabot_alert: 'A Dependabot alert appeared or changed',
  deploy_key: 'A deploy key was added or removed',
  deployment: 'A deployment was created',
  deployment_status: 'The status of a deployment changed',
  discussion: 'A discussion was created or changed',
  discussion_comment: 'A comment on a discussion was created, edited or deleted',
  fork: 'Somebody forked a repository',
  gollum: 'Pages of a wiki were created or changed',
  issue_comment: 'A comment on an issue or pull request was created, edited or deleted',
  issue_dependencies: 'A dependency between issues was added or removed',
  issue_relates_to: 'A relation between issues was added or removed',
  issues: 'An issue was opened, closed, edited, labelled, assigned or changed otherwise',
  label: 'A label was created, edited or deleted',
  member: 'A collaborator was added to a repository, changed or removed',
  membership: 'Somebody was added to a team or removed from it',
  meta: 'The webhook itself was deleted',
  milestone: 'A milestone was created, closed, opened, edited or deleted',
  org_block: 'An organization blocked or unblocked somebody',
  organization: 'An organization was renamed or deleted, or a member was added, invited or removed',
  package: 'A package was published or updated',
  page_build: 'A site was built from a repository',
  personal_access_token_request: 'A request for a token that reaches an organization was made or answered',
  ping: 'A webhook was created, or somebody asked for a ping',
  project: 'A classic project was created or changed',
  project_card: 'A card of a classic project was created, moved or changed',
  project_column: 'A column of a classic project was created, moved or changed',
  projects_v2: 'A project was created, closed, edited or deleted',
  projects_v2_item: 'An item of a project was created, edited, moved or deleted',
  projects_v2_status_update: 'A status update of a project was created, edited or deleted',
  public: 'A private repository became public',
  pull_request: 'A pull request was opened, closed, merged, edited, labelled or changed otherwise',
  pull_request_review: 'A review of a pull request was submitted, edited or dismissed',
  pull_request_review_comment: 'A comment on the changes of a pull request was created, edited or deleted',
  pull_request_review_thread: 'A thread of comments on a pull request was resolved or reopened',
  push: 'Commits or tags were pushed, or a branch was created or deleted',
  registry_package: 'A package was published or updated in a registry',
  release: 'A release was published, edited or deleted',
  repository: 'A repository was created, deleted, archived, renamed, transferred or changed otherwise',
  repository_advisory: 'A security advisory of a repository was published or reported',
  repository_import: 'A repository was imported, or the import failed',
  repository_ruleset: 'A ruleset of a repository was created, edited or deleted',
  repository_vulnerability_alert: 'An alert about a vulnerable dependency appeared or changed',
  secret_scanning_alert: 'A secret was found in a repository, or its alert changed',
  secret_scanning_alert_location: 'A secret that is known was found in another place',
  secret_scanning_scan: 'A scan for secrets was completed',
  security_and_analysis: 'Security features of a repository were switched on or off',
  star: 'Somebody starred a repository, or took the star back',
  status: 'The status of a commit changed',
  sub_issues: 'A sub-issue was added to an issue or removed from it',
  team: 'A team was created, changed or deleted, or a repository was added to it',
  team_add: 'A repository was added to a team',
  watch: 'Somebody starred a repository',
  workflow_job: 'A job of a workflow was queued, started or completed',
  workflow_run: 'A run of a workflow was requested, started or completed',
};

/** Events published by the gate (docs/reference/events.md). */
export const gateEvents = {
  user_signed_up: 'Somebody created an account at the gate',
  user_logged_in: 'Somebody logged in at the gate',
  user_deleted: 'Somebody’s account at the gate was deleted, by themselves or an administrator',
  login_failed: 'A login at the gate failed',
  consent_granted: 'Somebody allowed an application to act for them',
  token_revoked: 'A token was revoked',
  client_created: 'An application was registered at the gate',
  client_updated: 'An application of the gate was changed',
};

/**
 * The catalogue, extended by the names in `file`: a YAML or JSON list of names, names separated by blanks, or names with descriptions.
 * @throws when the file contains anything but names of event types (`[a-z0-9_]{1,64}`).
 */
export function readCatalog(file: string | undefined): EventCatalog {
  const own = file === undefined ? {} : readNames(file);
  return new Map(Object.entries({ ...githubEvents, ...gateEvents, ...own }));
}

function readNames(file: string): Record<string, string> {
  const content: unknown = parseYaml(readFileSync(file, 'utf8'));
  const own = isMapping(content) ? content : namesOnly(content);
  const bad = Object.entries(own).filter(([name, text]) => !/^[a-z0-9_]{1,64}$/.test(name) || typeof text !== 'string');
  if (bad.length > 0) throw new Error(`not an event type: ${bad.map(([name]) => name).join(', ')}`);
  return own as Record<string, string>;
}

function namesOnly(content: unknown): Record<string, unknown> {
  const names = typeof content === 'string' ? content.split(/\s+/).filter(Boolean) : (content ?? []);
  if (!Array.isArray(names)) throw new Error('does not hold a list of event types');
  return Object.fromEntries(names.map((name) => [String(name), typeof name === 'string' ? '' : undefined]));
}

const isMapping = (content: unknown): content is Record<string, unknown> =>
  typeof content === 'object' && content !== null && !Array.isArray(content);
