/**
 * `organization_require_behavior` of an application whose people sign in in an organization, when the request names none: they are asked which
 * one, before the login (`pre_login_prompt`, by its name) or after it (`post_login_prompt`, among their own). What they say stands in the request
 * from then on, as if the application had sent it. Where the application takes people without one as well (`organization_usage: allow`), they may go on
 * so; nobody is held up for it who cannot be asked.
 */
import { type Client, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';

const { Check, Prompt } = interactionPolicy;

export type OrganizationPrompt = 'organization' | 'organization_choice';
type Behavior = 'no_prompt' | 'pre_login_prompt' | 'post_login_prompt';

/** What becomes of a request of this application that names no organization. Only where there are pages to ask on. */
export function behaviorOf(
  client: Pick<OwnMetadata, 'organization_usage' | 'organization_require_behavior'>,
): Behavior {
  const isOpen = client.organization_usage === 'require' || mayGoWithout(client);
  return isOpen ? (client.organization_require_behavior ?? 'no_prompt') : 'no_prompt';
}

export const mayGoWithout = (client: Pick<OwnMetadata, 'organization_usage'>): boolean =>
  client.organization_usage === 'allow';

/** Part of an interaction's result: they go on without an organization. */
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
  if (!mayGoWithout(client)) return true;
  const hasPages = (oidc.route === 'authorization' || oidc.route === 'resume') && !oidc.prompts.has('none');
  return hasPages && !(oidc.result as WithoutOrganization | undefined)?.withoutOrganization;
}
