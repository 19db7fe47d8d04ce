/** "Forgot password?" on the hosted login. */
import type { Request, Response } from 'express';
import { isEmail } from '../accounts/identifier.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Interaction } from './interaction.ts';

export async function showForgotPassword(interaction: Interaction, _response: Response): Promise<void> {
  await interaction.show('forgot-password', { step: 'forgot-password', back: interaction.path() });
}

export async function requestPasswordMail(interaction: Interaction, request: Request): Promise<void> {
  const email = fieldsOf(request).email?.trim().toLowerCase() ?? '';
  const back = interaction.path();
  if (!isEmail(email))
    return interaction.show('forgot-password', { step: 'forgot-password', email, back, problem: 'email_invalid' }, 400);
  const { parts, client, address: ip } = interaction;
  const database = await parts.connections.database(client.clientId);
  const asked = database && { connection: database.name, email, clientId: client.clientId, ip };
  if (asked && (await parts.sendPasswordMail(asked)) === 'too_many')
    return interaction.show('too-many-attempts', { back }, 429);
  return interaction.show('password-mail-sent', { email, back });
}
