/** The pages that ask in which organization somebody signs in (organizations/prompts.ts). */
import type { Request } from 'express';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { AccountModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { connectionOf } from '../organizations/admission.ts';
import { mayGoWithout, type WithoutOrganization } from '../organizations/prompts.ts';
import type { Organization } from '../organizations/store.ts';
import type { Interaction } from './interaction.ts';

const step = 'organization';

/** Before the login a field; after it the organizations of whoever has logged in, unless there is but one and they need one. */
export async function showOrganization(interaction: Interaction): Promise<void> {
  const without = goesWithout(interaction);
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
  if (without && open.length === 0) return interaction.finish(goneWithout);
  if (!account || open.length === 0)
    return interaction.finish({
      error: 'access_denied',
      error_description: `user ${account?.userId ?? ''} is not part of any organization that may sign in here`,
    });
  if (open.length === 1 && !without) return goOn(interaction, open[0]!);
  const organizations = open
    .map(({ id, name, displayName }) => ({ id, label: displayName || name }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
  return interaction.show('organization-choice', { step, without, organizations });
}

export async function checkOrganizationForm(interaction: Interaction, request: Request): Promise<void> {
  const { organization: given = '', action } = fieldsOf(request);
  if (action === 'without' && goesWithout(interaction)) return interaction.finish(goneWithout);
  if (interaction.prompt === 'organization') {
    const found = given.trim() && (await interaction.parts.organizations.find(given.trim().slice(0, 256)));
    if (found) return goOn(interaction, found);
    const facts = { identifier: given.slice(0, 256) };
    return interaction.turnTo(step, facts, { problems: ['organization_unknown'] });
  }
  const account = await signedIn(interaction);
  const found = account && (await organizationsOf(interaction, account)).find(({ id }) => id === given);
  return found ? goOn(interaction, found) : interaction.turnTo(step);
}

const goesWithout = ({ client }: Interaction) => mayGoWithout(client as typeof client & OwnMetadata);
const goneWithout: WithoutOrganization = { withoutOrganization: true };

/** As if the application had named it. */
async function goOn({ details, finish }: Interaction, { id }: Organization): Promise<void> {
  (details.params as Record<string, unknown>).organization = id;
  await details.persist();
  return finish({});
}

async function signedIn({ details, parts }: Interaction): Promise<AccountModel | undefined> {
  const accountId = details.session?.accountId;
  return accountId === undefined ? undefined : parts.accounts.find(accountId);
}

/** Where the person is a member and may sign in by one of their connections. */
async function organizationsOf({ parts }: Interaction, { userId, connection }: AccountModel): Promise<Organization[]> {
  const { accounts, organizations } = parts;
  const mine = await organizations.ofMember(userId);
  const isOpen = async (one: Organization) =>
    (await connectionOf({ linkedConnections: (id) => accounts.linkedConnections(id) }, one, userId, connection)) !==
    undefined;
  const open = await Promise.all(mine.map(isOpen));
  return mine.filter((_, index) => open[index]);
}
