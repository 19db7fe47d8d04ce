/** How the second-factor pages lead back: to the login, or to themselves with the problems found. */
import type { Interaction } from '../interaction/interaction.ts';
import type { Outcome } from '../interaction/page-memory.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import { ownerOf } from './second-factor.ts';

/** No first factor was proven here, or the proof no longer counts. */
export async function restartLogin(interaction: Interaction): Promise<void> {
  const { details, prompt, parts } = interaction;
  await parts.pending.take(ownerOf(interaction));
  if (prompt === 'mfa') {
    details.prompt = { name: 'login', reasons: ['second_factor'], details: {} };
    await details.persist();
  }
  return interaction.turnTo('');
}

export function redisplay(
  interaction: Interaction,
  step: string,
  problem: ProblemName,
  more: Partial<Outcome> = {},
): Promise<void> {
  return interaction.turnTo(step, {}, { problems: [problem], ...more });
}
