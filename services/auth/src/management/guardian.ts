/** `guardian`: the second factors people may use, and when they are asked for one (factors/policy.ts). */
import { z } from 'zod';
import { type FactorName, factorNames, type MfaSettings, mfaSettingsOf } from '../factors/types.ts';
import { featureNotAvailable } from './absent.ts';
import { ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { badBody, ManagementProblem } from './problem.ts';

/** Auth0 factors that Gatepost lacks. */
const absent = ['push-notification', 'duo'];
/** Loose, since tools send back what they read. */
const change = z.looseObject({ enabled: z.boolean() });

export const listFactors = operation({
  async run({ parts }) {
    const { factors } = mfaSettingsOf(await parts.settings.load());
    const known = factorNames.map((name) => ({ name, enabled: factors[name], trial_expired: false }));
    return ok([...known, ...absent.map((name) => ({ name, enabled: false, trial_expired: false }))]);
  },
});

export const setFactor = operation({
  body: change,
  async run({ parts, params, body: { enabled } }) {
    const { id = '' } = params;
    if (absent.includes(id)) {
      if (enabled) throw featureNotAvailable(`the factor ${id}`);
      return ok({ enabled });
    }
    if (!isFactor(id)) throw new ManagementProblem(404, 'inexistent_factor', `There is no factor ${id}`);
    await update(parts, (settings) => ({ ...settings, factors: { ...settings.factors, [id]: enabled } }));
    return ok({ enabled });
  },
});

export const listPolicies = operation({
  run: async ({ parts }) => ok(policiesOf(mfaSettingsOf(await parts.settings.load()))),
});

/** Auth0 has "always" and "never"; instead of "never", people with a factor are still asked here, unless `mfa_policy` is `never`. */
export const setPolicies = operation({
  body: z.array(z.string()).max(2),
  async run({ parts, body }) {
    const foreign = body.find((policy) => policy !== 'all-applications');
    if (foreign === 'confidence-score') throw featureNotAvailable('the policy confidence-score');
    if (foreign !== undefined) throw badBody(`${foreign} is not a policy`);
    const after = await update(parts, (settings) => {
      if (body.length > 0) return { ...settings, policy: 'always' };
      return { ...settings, policy: settings.policy === 'always' ? 'enrolled' : settings.policy };
    });
    return ok(policiesOf(after));
  },
});

const policiesOf = ({ policy }: MfaSettings) => (policy === 'always' ? ['all-applications'] : []);

const isFactor = (name: string): name is FactorName => (factorNames as readonly string[]).includes(name);

async function update({ settings }: Parts, change: (before: MfaSettings) => MfaSettings): Promise<MfaSettings> {
  return mfaSettingsOf(await settings.update((before) => ({ mfa: change(mfaSettingsOf(before)) })));
}
