/** Stores what actions decided with the library’s own models, so that it survives between requests, and puts it into ID tokens. */
import Provider, { type Provider as ProviderType } from 'oidc-provider';
import { outcomeFor, outcomeNow, pauseNow } from '../actions/outcomes.ts';
import { keepProperty } from './seam.ts';

type ModelWithOutcome = { actions?: object; actionPause?: string; save(...given: unknown[]): Promise<unknown> };
type IdToken = { set(name: string, value: unknown): void; issue(options: { use: string }): Promise<string> };

export function keepActionOutcomes(provider: ProviderType): void {
  keepProperty(provider.Interaction, 'actionPause');
  for (const model of [provider.AuthorizationCode, provider.DeviceCode, provider.Interaction]) {
    keepProperty(model, 'actions');
    // The property is ours; the typings do not know the method that stores it.
    const prototype = model.prototype as unknown as ModelWithOutcome;
    const { save } = prototype;
    prototype.save = function (...given) {
      const ctx = Provider.ctx;
      const outcome = ctx && outcomeNow(ctx);
      if (outcome) this.actions = outcome;
      const pause = ctx && pauseNow(ctx);
      if (pause) this.actionPause = pause;
      return save.apply(this, given);
    };
  }
  // Its prototype is missing in the typings.
  const prototype = provider.IdToken.prototype as unknown as IdToken;
  const { issue } = prototype;
  prototype.issue = function (options) {
    const outcome = options.use === 'idtoken' ? outcomeFor(Provider.ctx) : undefined;
    for (const [name, value] of Object.entries(outcome?.idToken ?? {})) this.set(name, value);
    return issue.call(this, options);
  };
}
