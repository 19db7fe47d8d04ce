/** What a refused form of the login leads to: a page again, with the problems found, or a pause. */
import type { Subject } from '../accounts/subject.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { Closed } from '../protection/attempt-limits.ts';
import { busySeconds } from '../stores-away.ts';
import type { Interaction } from './interaction.ts';

export const typedMax = 320;

/** The same page again, with the typed values and the problems found. */
export function redisplay(
  interaction: Interaction,
  step: string,
  identifier: string,
  problems: ProblemName[],
  { status, said }: { status?: number; said?: string | undefined } = {},
): Promise<void> {
  const retryAfterSeconds = problems.includes('busy') ? busySeconds : undefined;
  const rest = {
    ...(status && { status }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
    ...(said !== undefined && { said }),
  };
  return interaction.turnTo(step, { identifier: identifier.slice(0, typedMax) }, { problems, ...rest });
}

/** Too many attempts. Offers a new password where wrong ones are the cause. */
export function pause(
  interaction: Interaction,
  { seconds, subject, reason }: { seconds: number; subject: Subject; reason: Closed['reason'] },
  { identifier, reset }: { identifier: string; reset: boolean },
): Promise<void> {
  interaction.parts.report.loginFailed(interaction, reason, subject);
  const until = Date.now() + seconds * 1000;
  return interaction.turnTo('too-many-attempts', {
    identifier: identifier.slice(0, typedMax),
    pause: { until, reset },
  });
}

/** Shown while the pause lasts. */
export async function showPause(interaction: Interaction): Promise<void> {
  const { pause: paused } = await interaction.recall('too-many-attempts');
  const seconds = paused?.until === undefined ? undefined : Math.ceil((paused.until - Date.now()) / 1000);
  if (!paused || (seconds !== undefined && seconds <= 0)) return interaction.turnTo('identifier');
  const page = {
    back: interaction.path('identifier'),
    ...(seconds && { minutes: Math.ceil(seconds / 60) }),
    ...(paused.reset && { reset: interaction.path('forgot-password') }),
  };
  return interaction.show('too-many-attempts', page, {
    status: 429,
    ...(seconds && { retryAfterSeconds: seconds }),
  });
}
