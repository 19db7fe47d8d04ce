/**
 * "Sign in as …?": asked when an authorization request brings along a login that was not proven in this browser. Otherwise the sender
 * of such a request could trick somebody into working, paying or confiding in the sender’s account (login CSRF, RFC 9700 4.7).
 */
import type { Request } from 'express';
import type { Ticket } from '../authorization/login-ticket.ts';
import { finishLogin } from '../factors/second-factor.ts';
import type { AccountModel } from '../generated/models.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Interaction } from './interaction.ts';
import { showFirstPage } from './login.ts';

/** Shows the question, or the login page if that login does not exist or has expired. */
export async function showSignInAs(interaction: Interaction): Promise<void> {
  const ticket = await interaction.parts.tickets.find(ticketOf(interaction));
  const account = await ownerOf(interaction, ticket);
  if (!account) return showFirstPage(interaction);
  const identifier = account.email ?? account.phoneNumber ?? account.username ?? account.name ?? account.userId;
  return interaction.show('sign-in-as', { step: 'sign-in-as', identifier });
}

/** The ticket is spent whatever the answer. */
export async function answerSignInAs(interaction: Interaction, request: Request): Promise<void> {
  const ticket = await interaction.parts.tickets.redeem(ticketOf(interaction));
  const account = await ownerOf(interaction, ticket);
  if (!ticket || !account || fieldsOf(request).action !== 'default') return interaction.turnTo('');
  const { amr, connection } = ticket;
  return finishLogin(interaction, account, { amr, connection, isReported: true });
}

function ticketOf({ params }: Interaction): string {
  return typeof params.login_ticket === 'string' ? params.login_ticket : '';
}

async function ownerOf({ client, parts }: Interaction, ticket: Ticket | undefined): Promise<AccountModel | undefined> {
  if (ticket?.clientId !== client.clientId) return undefined;
  return parts.accounts.find(ticket.account.userId);
}
