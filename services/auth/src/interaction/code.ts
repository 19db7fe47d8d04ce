/** Logging in by a one-time code, which was sent as a mail or a text message. */
import type { Request } from 'express';
import { finishLogin } from '../factors/second-factor.ts';
import { fieldsOf } from '../http/form-fields.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { SignUpDenied } from '../passwordless/account.ts';
import { amrOf } from '../passwordless/message.ts';
import { busySeconds } from '../stores-away.ts';
import type { Interaction } from './interaction.ts';
import { isPerson } from './person-check.ts';
import { pause, redisplay } from './redisplay.ts';
import { codeTarget, type Ways, waysOf } from './ways.ts';

/** @param asked `request`: its challenge must be solved first; `page`: the page that showed it */
export async function startCode(
  interaction: Interaction,
  ways: Ways,
  asked: { identifier: string; request?: Request; page?: 'identifier' | 'password'; resent?: boolean },
): Promise<void> {
  const { identifier, request, page = 'identifier', resent = false } = asked;
  const target = codeTarget(ways, identifier);
  if (!target) return redisplay(interaction, 'identifier', identifier, ['identifier_unusable']);
  const check = {
    stage: 'passwordless',
    login: identifier,
    also: page === 'password' ? (['login'] as const) : [],
  } as const;
  if (request && !(await isPerson(interaction, request, check)))
    return redisplay(interaction, page, identifier, ['captcha_failed']);
  const { parts, uid, languages, address: ip } = interaction;
  const { clientId } = interaction.client;
  const sent = await parts.sendCode({ ...target, binding: uid, ip, clientId, languages });
  const facts = { identifier, codeTo: target.recipient };
  if (sent === 'too_many') return interaction.turnTo('too-many-attempts', { ...facts, pause: {} });
  return interaction.turnTo('code', facts, { resent });
}

export async function showCode(interaction: Interaction): Promise<void> {
  const ways = await waysOf(interaction);
  const { codeTo = '', outcome } = await interaction.recall('code');
  const target = codeTarget(ways, codeTo);
  if (!target) return interaction.turnTo('identifier');
  const { channel, recipient } = target;
  const page = {
    step: 'code',
    hidden: { identifier: recipient },
    channel,
    sentTo: recipient,
    edit: interaction.path('identifier'),
    resend: true,
    resent: outcome.resent ?? false,
  };
  return interaction.show('code', page, outcome);
}

/** Checks a one-time code, or sends another one. */
export async function checkCode(interaction: Interaction, request: Request): Promise<void> {
  const { code = '', identifier = '', action } = fieldsOf(request);
  const { parts } = interaction;
  const ways = await waysOf(interaction);
  const target = codeTarget(ways, identifier);
  if (!target) return redisplay(interaction, 'identifier', identifier, ['identifier_unusable']);
  if (action === 'resend') {
    const { codeTo } = await interaction.recall('code');
    // If a code was already sent from here, the challenge has been solved.
    return startCode(interaction, ways, { identifier, ...(codeTo !== target.recipient && { request }), resent: true });
  }
  const { channel, connection, recipient } = target;
  const failed = (problem: ProblemName, more = {}) => interaction.turnTo('code', {}, { problems: [problem], ...more });
  if (!code.trim()) return failed('code_missing');
  const asked = { connection, recipient, binding: interaction.uid };
  const answer = await parts.checkCode({ channel, asked, code, ip: interaction.address });
  switch (answer.kind) {
    case 'busy':
      return failed('busy', { status: 503, retryAfterSeconds: busySeconds });
    case 'locked':
      return pause(interaction, answer, { identifier: recipient, reset: false });
    case 'wrong':
      parts.report.loginFailed(interaction, 'wrong_code', answer.subject);
      return failed('code_wrong');
    case 'expired':
      parts.report.loginFailed(interaction, 'code_expired', answer.subject);
      return failed('code_expired');
    case 'right':
  }
  const { clientId } = interaction.client;
  const opening = { clientId, request, ip: interaction.address };
  const account = await parts.openAccount(channel, connection, recipient, opening);
  if (account instanceof SignUpDenied) return failed('signup_denied', { said: account.said });
  if (!account) return failed('code_wrong');
  return finishLogin(interaction, account, { amr: amrOf(channel), connection });
}
