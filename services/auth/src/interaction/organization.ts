/** The pages that ask which organization somebody signs in to (organizations/prompts.ts). */
import type { Request } from 'express';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { AccountModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { connectionOfSession } from '../library/sessions.ts';
import { connectionOf } from '../organizations/admission.ts';
import { isOrganizationOptional, type WithoutOrganization } from '../organizations/prompts.ts';
import type { Organization } from '../organizations/store.ts';
import type { Interaction } from './interaction.ts';

const step = 'organization';

/** Before the login, a field; after it, the person's organizations, unless there is only one and one is required. */
export async function showOrganization(interaction: Interaction): Promise<void> {
  const without = maySkip(interaction);
  if (interaction.prompt === 'organization') {
    const { identifier, outcome } = await interaction.recall(step);
    return interaction.show(
      'organization',
      { step, without, ...(identifier && { organization: identifier }) },
      outcome,
    );
  }
  const account = await signedIn(interaction);
  const open = account ? await organizationsOf(interaction, account) : [];
  if (without && open.length === 0) return interaction.finish(skipped);
  if (!account || open.length === 0)
    return interaction.finish({
      error: 'access_denied',
      error_description: `user ${account?.userId ?? ''} is not part of any organization that may sign in here`,
    });
  if (open.length === 1 && !without) return choose(interaction, open[0]!, account);
  const organizations = open
    .map(({ id, name, displayName }) => ({ id, label: displayName || name }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
  return interaction.show('organization-choice', { step, without, organizations });
}

export async function checkOrganizationForm(interaction: Interaction, request: Request): Promise<void> {
  const { organization: given = '', action } = fieldsOf(request);
  if (action === 'without' && maySkip(interaction)) return interaction.finish(skipped);
  if (interaction.prompt === 'organization') {
    const found = given.trim() && (await interaction.parts.organizations.find(given.trim().slice(0, 256)));
    if (found) return continueWith(interaction, found);
    const facts = { identifier: given.slice(0, 256) };
    return interaction.turnTo(step, facts, { problems: ['organization_unknown'] });
  }
  const account = await signedIn(interaction);
  const found = account && (await organizationsOf(interaction, account)).find(({ id }) => id === given);
  return found ? choose(interaction, found, account!) : interaction.turnTo(step);
}

const maySkip = ({ client }: Interaction) => isOrganizationOptional(client as typeof client & OwnMetadata);
const skipped: WithoutOrganization = { withoutOrganization: true };

/** Continues as if the application had named the organization. */
async function continueWith({ details, finish }: Interaction, { id }: Organization, isSignedIn = true): Promise<void> {
  (details.params as Record<string, unknown>).organization = id;
  await details.persist();
  return finish({}, isSignedIn);
}

/** Somebody who signed in by a connection the organization does not take is asked to use one of its own, rather than refused. */
async function choose(interaction: Interaction, found: Organization, { connection }: AccountModel): Promise<void> {
  const signedInBy = (await connectionOfThis(interaction)) ?? connection;
  return continueWith(interaction, found, connectionOf(found, signedInBy) !== undefined);
}

/** The connection that began the current session; undefined without a session, or if the session does not know. */
async function connectionOfThis({ details, parts }: Interaction): Promise<string | undefined> {
  const session = details.session && (await parts.provider.Session.findByUid(details.session.uid));
  return session && connectionOfSession(session);
}

async function signedIn({ details, parts }: Interaction): Promise<AccountModel | undefined> {
  const accountId = details.session?.accountId;
  return accountId === undefined ? undefined : parts.accounts.find(accountId);
}

/** The person's organizations that accept one of their connections: the account's own, this session's, or a linked identity's. */
async function organizationsOf(
  interaction: Interaction,
  { userId, connection }: AccountModel,
): Promise<Organization[]> {
  const { accounts, organizations } = interaction.parts;
  const [mine, linked, signedInBy] = await Promise.all([
    organizations.ofMember(userId),
    accounts.linkedConnections(userId),
    connectionOfThis(interaction),
  ]);
  const ways = [connection, ...linked, ...(signedInBy === undefined ? [] : [signedInBy])];
  return mine.filter((one) => ways.some((name) => connectionOf(one, name)));
}
