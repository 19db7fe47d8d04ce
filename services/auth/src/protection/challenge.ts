/**
 * What a person’s browser does and a bot does not do lightly. A provider gives challenges out and checks what comes back; the only one here
 * is proof-of-work.ts. Another one implements these two functions, and pages/ has to show what it gives out.
 */

/** What the challenge stands before. One is not taken for another. */
export const stages = ['login', 'signup', 'passwordless', 'password-reset'] as const;
export type ChallengeStage = (typeof stages)[number];

export type ChallengeProvider = {
  /** A challenge for one use, as JSON. Costs no store anything. */
  issue(stage: ChallengeStage): string;
  /** Whether it is solved, for the first time, in time, and was given out for one of these stages. */
  redeem(accepted: readonly ChallengeStage[], solution: string): Promise<boolean>;
};
