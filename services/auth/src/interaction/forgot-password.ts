/** "Forgot password?" on the hosted login. Nobody learns whether an address has an account. */
import type { Request } from 'express';
import { isEmail } from '../accounts/identifier.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { Interaction } from './interaction.ts';
import { challengeFor, isPerson } from './person-check.ts';
import { waysOf } from './ways.ts';

/** How many mails one interaction may ask for, the first one included. */
const mails = { max: 6, windowSeconds: 600 };

export async function showForgotPassword(interaction: Interaction): Promise<void> {
  const { typed, outcome } = await interaction.recall('forgot-password');
  // A login typed on another page may be a number or a username.
  const email = typed.includes('@') || outcome.problems ? typed : '';
  return interaction.show(
    'forgot-password',
    { step: 'forgot-password', email, back: true, ...(await challengeFor(interaction, ['password-reset'])) },
    outcome,
  );
}

export async function requestPasswordMail(interaction: Interaction, request: Request): Promise<void> {
  const { email: typed = '', action } = fieldsOf(request);
  const email = typed.trim().toLowerCase();
  const facts = { identifier: typed.slice(0, 320) };
  if (!isEmail(email)) return interaction.turnTo('forgot-password', facts, { problems: ['email_invalid'] });
  const { parts, client, uid, languages, address: ip } = interaction;
  const resent = action === 'again';
  // If a mail was already sent from here, the challenge has been solved.
  const isFurther = resent && (await interaction.recall('password-mail')).mailTo === email;
  if (!isFurther && !(await isPerson(interaction, request, { stage: 'password-reset' })))
    return interaction.turnTo('forgot-password', facts, { problems: ['captcha_failed'] });
  const refused = () =>
    interaction.turnTo(resent ? 'password-mail' : 'forgot-password', facts, {
      problems: ['too_many_mails'],
      status: 429,
    });
  if (!(await parts.rate.take('password-mails-of', uid, mails.max, mails.windowSeconds))) return refused();
  const { database } = await waysOf(interaction);
  const asked = database && { connection: database.name, email, clientId: client.clientId, ip, languages };
  if (asked && (await parts.sendPasswordMail(asked)) === 'too_many') return refused();
  return interaction.turnTo('password-mail', { identifier: email, mailTo: email }, { resent });
}

/** Says that the mail is on its way, if there is an account to get it. */
export async function showPasswordMail(interaction: Interaction): Promise<void> {
  const { mailTo: email, outcome } = await interaction.recall('password-mail');
  if (!email) return interaction.turnTo('forgot-password');
  const page = { step: 'forgot-password', hidden: { email }, email, signIn: interaction.path('identifier') };
  return interaction.show('password-mail-sent', { ...page, resent: outcome.resent ?? false }, outcome);
}
