/** Decides who has to solve a challenge, and before what (`attack-protection/bot-detection`). */
import { subjectOf } from '../accounts/subject.ts';
import { networkOf } from '../http/network.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isListed } from './allowlist.ts';
import type { ChallengeProvider, ChallengeStage } from './challenge.ts';
import type { ProtectionEvents } from './events.ts';
import type { Risk } from './risk.ts';
import { type Protection, protectionOf } from './settings.ts';

/** The request: its stage, the person's address, the application, and the login, if one was given. */
export type ChallengeRequest = { stage: ChallengeStage; ip: string; clientId: string; login?: string | undefined };

export type Bots = {
  /** A challenge, if one is needed. @param as the stage to issue it for, where one page covers several */
  challenge(request: ChallengeRequest, as?: ChallengeStage): Promise<string | undefined>;
  /** Whether they may go on. @param also further stages whose challenges count */
  check(
    request: ChallengeRequest,
    solution: string | undefined,
    also?: readonly ChallengeStage[],
  ): Promise<'passed' | 'missing' | 'wrong'>;
  /** Somebody failed to prove who they are. */
  failed(network: string, login: string): Promise<void>;
  /** A sign-up was attempted from this network, whatever its outcome. */
  signedUp(network: string): Promise<void>;
};

type Rules = Protection['bot-detection'];

const policyOf: Record<ChallengeStage, keyof Rules & `challenge_${string}`> = {
  login: 'challenge_password_policy',
  signup: 'challenge_password_policy',
  passwordless: 'challenge_passwordless_policy',
  'password-reset': 'challenge_password_reset_policy',
};

export function makeBots(parts: {
  provider: ChallengeProvider;
  risk: Risk;
  settings: SettingsStore;
  events: ProtectionEvents;
}): Bots {
  const { provider, risk } = parts;
  const rulesOf = async () => protectionOf(await parts.settings.load())['bot-detection'];
  const isAsked = async (rules: Rules, { stage, ip, login }: ChallengeRequest) => {
    const policy = rules[policyOf[stage]];
    const network = networkOf(ip);
    if (policy === 'never' || isListed(rules.allowlist, network)) return false;
    const name = login === undefined ? undefined : subjectOf('', login, undefined).typed;
    return (
      policy === 'always' ||
      risk.isRisky(rules.bot_detection_level, { network, login: name, isSignup: stage === 'signup' })
    );
  };
  return {
    async challenge(request, as = request.stage) {
      return (await isAsked(await rulesOf(), request)) ? provider.issue(as) : undefined;
    },
    async check(request, solution, also = []) {
      const rules = await rulesOf();
      if (!(await isAsked(rules, request))) return 'passed';
      const isSolved = Boolean(solution) && (await provider.redeem([request.stage, ...also], solution!));
      const answer = isSolved ? 'passed' : solution ? 'wrong' : 'missing';
      const isMonitored = rules.monitoring_mode_enabled;
      parts.events.challenged(request, { answer, isMonitored });
      return isMonitored ? 'passed' : answer;
    },
    async failed(network, login) {
      const rules = await rulesOf();
      if (Object.values(policyOf).some((policy) => rules[policy] === 'when_risky')) await risk.failed(network, login);
    },
    async signedUp(network) {
      if ((await rulesOf())[policyOf.signup] === 'when_risky') await risk.signedUp(network);
    },
  };
}
