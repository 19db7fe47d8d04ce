/** How Auth0’s authentication API asks for a challenge, in its words and codes. */
import { ApiError } from '../http/api-error.ts';
import type { Bots, ChallengeRequest } from './bots.ts';

const refusals = {
  missing: { status: 401, code: 'requires_verification', description: 'Suspicious request requires verification' },
  wrong: {
    status: 400,
    code: 'invalid_captcha',
    description: 'Solve the challenge question to verify you are not a robot.',
  },
} as const;

export const refusalOf = (answer: 'missing' | 'wrong') => refusals[answer];

/** @throws ApiError when a challenge is required and not solved */
export async function checkPerson(bots: Bots, request: ChallengeRequest, solution: string | undefined): Promise<void> {
  const answer = await bots.check(request, solution);
  if (answer === 'passed') return;
  const { status, code, description } = refusals[answer];
  throw new ApiError(status, code, description, { name: 'Error', code, description, statusCode: status });
}
