/**
 * `organization_require_behavior` of an application whose users sign in within an organization, for requests that name none: they are asked
 * which one, before the login (`pre_login_prompt`, by name) or after it (`post_login_prompt`, from their own). Their answer is then part of
 * the request, as if the application had sent it. If the application also accepts people without one (`organization_usage: allow`), they may
 * continue without; a request that cannot show a page is not held up.
 */
import { type Client, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';

const { Check, Prompt } = interactionPolicy;

export type OrganizationPrompt = 'organization' | 'organization_choice';
type Behavior = 'no_prompt' | 'pre_login_prompt' | 'post_login_prompt';

/** How to handle this application's request that names no organization. Applies only where pages can ask. */
export function behaviorOf(
  client: Pick<OwnMetadata, 'organization_usage' | 'organization_require_behavior'>,
): Behavior {
  const isOpen = client.organization_usage === 'require' || isOrganizationOptional(client);
  return isOpen ? (client.organization_require_behavior ?? 'no_prompt') : 'no_prompt';
}

export const isOrganizationOptional = (client: Pick<OwnMetadata, 'organization_usage'>): boolean =>
  client.organization_usage === 'allow';

/** Part of an interaction's result: the person continues without an organization. */
export type WithoutOrganization = { withoutOrganization?: true };

export const beforeLogin = () => promptOf('organization', 'pre_login_prompt');
export const afterLogin = () => promptOf('organization_choice', 'post_login_prompt');

function promptOf(name: OrganizationPrompt, behavior: Behavior) {
  return new Prompt(
    { name, requestable: false },
    new Check('organization_missing', 'an organization is required', 'interaction_required', (ctx) =>
      isAsked(ctx, behavior) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
}

function isAsked({ oidc }: KoaContextWithOIDC, behavior: Behavior): boolean {
  const client = oidc.client as Client & OwnMetadata;
  if (oidc.params?.organization || behaviorOf(client) !== behavior) return false;
  if (!isOrganizationOptional(client)) return true;
  const hasPages = (oidc.route === 'authorization' || oidc.route === 'resume') && !oidc.prompts.has('none');
  return hasPages && !(oidc.result as WithoutOrganization | undefined)?.withoutOrganization;
}
