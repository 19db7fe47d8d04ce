/** The event types that hooks may name: GitHub's for repositories and organizations, the gate's, and the installation's own. */
import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';

export type EventCatalog = ReadonlySet<string>;

/** The event types of repositories and organizations, of 2026. */
const github = `
  branch_protection_configuration branch_protection_rule check_run check_suite code_scanning_alert commit_comment create
  custom_property custom_property_values delete dependabot_alert deploy_key deployment deployment_status discussion
  discussion_comment fork gollum issue_comment issue_dependencies issue_relates_to issues label member membership meta
  milestone org_block organization package page_build personal_access_token_request ping project project_card
  project_column projects_v2 projects_v2_item projects_v2_status_update public pull_request pull_request_review
  pull_request_review_comment pull_request_review_thread push registry_package release repository repository_advisory
  repository_import repository_ruleset repository_vulnerability_alert secret_scanning_alert
  secret_scanning_alert_location secret_scanning_scan security_and_analysis star status sub_issues team team_add watch
  workflow_job workflow_run`;

/** What the gate publishes (docs/reference/events.md). */
const gate = 'user_signed_up user_logged_in login_failed consent_granted token_revoked client_created client_updated';

/**
 * The catalogue, with the names of `file` added: a YAML or JSON list, or names with blanks between them.
 * @throws when the file holds anything but names of event types (`[a-z0-9_]{1,64}`).
 */
export function readCatalog(file: string | undefined): EventCatalog {
  return new Set([...words(github), ...words(gate), ...(file === undefined ? [] : readNames(file))]);
}

function readNames(file: string): string[] {
  const content: unknown = parseYaml(readFileSync(file, 'utf8'));
  const names = typeof content === 'string' ? words(content) : (content ?? []);
  if (!Array.isArray(names)) throw new Error(`EVENT_CATALOG_FILE: ${file} does not hold a list`);
  const bad = names.filter((name) => typeof name !== 'string' || !/^[a-z0-9_]{1,64}$/.test(name));
  if (bad.length > 0) throw new Error(`EVENT_CATALOG_FILE: not an event type: ${bad.map(String).join(', ')}`);
  return names as string[];
}

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean);
