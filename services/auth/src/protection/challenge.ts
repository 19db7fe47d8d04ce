/**
 * Work that a person’s browser does easily and a bot does not do lightly. A provider issues challenges and checks the solutions; the only
 * one here is proof-of-work.ts. Another one implements these two functions, and pages/ has to show its challenges.
 */

/** The step that the challenge protects. A challenge for one step does not count for another. */
export const stages = ['login', 'signup', 'passwordless', 'password-reset'] as const;
export type ChallengeStage = (typeof stages)[number];

export type ChallengeProvider = {
  /** A single-use challenge, as JSON. Touches no store. */
  issue(stage: ChallengeStage): string;
  /** Whether the solution is right, in time, used for the first time, and for one of these stages. */
  redeem(accepted: readonly ChallengeStage[], solution: string): Promise<boolean>;
};
