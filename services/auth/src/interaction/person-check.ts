/** The challenge on a hosted page, where one is asked for (protection/bots.ts), and whether it was solved. */
import type { Request } from 'express';
import { fieldsOf } from '../http/form-fields.ts';
import type { ChallengeRequest } from '../protection/bots.ts';
import type { ChallengeStage } from '../protection/challenge.ts';
import type { Interaction } from './interaction.ts';

/** Context for `interaction.show`. For several stages the page has one challenge, of the first stage, if any stage needs one. */
export async function challengeFor(
  interaction: Interaction,
  stages: readonly ChallengeStage[],
  login?: string,
): Promise<{ captcha?: string }> {
  for (const stage of stages) {
    const captcha = await interaction.parts.bots.challenge(challengeRequestOf(interaction, stage, login), stages[0]);
    if (captcha !== undefined) return { captcha };
  }
  return {};
}

/** @param also stages whose challenges count too, since the page had only one */
export async function isPerson(
  interaction: Interaction,
  request: Request,
  { stage, login, also = [] }: { stage: ChallengeStage; login?: string; also?: readonly ChallengeStage[] },
): Promise<boolean> {
  const { captcha } = fieldsOf(request);
  return (
    (await interaction.parts.bots.check(challengeRequestOf(interaction, stage, login), captcha, also)) === 'passed'
  );
}

const challengeRequestOf = (
  { address: ip, client }: Interaction,
  stage: ChallengeStage,
  login?: string,
): ChallengeRequest => ({
  stage,
  ip,
  clientId: client.clientId,
  login,
});
