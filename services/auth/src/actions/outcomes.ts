/**
 * What actions decided for a request, for as long as it lasts; if a code or a page comes between, the decision travels with that
 * (library/action-outcomes.ts stores it there).
 */
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Outcome } from './outcome.ts';

/** With its account: a decision about somebody else is not reused. */
export type StoredOutcome = Pick<
  Outcome,
  'accessToken' | 'idToken' | 'scopes' | 'secondFactor' | 'sessionEndsAt' | 'transaction'
> & {
  accountId: string;
};

const outcomes = new WeakMap<object, StoredOutcome>();

export function setOutcome(ctx: KoaContextWithOIDC, accountId: string, outcome: Outcome): StoredOutcome {
  const { accessToken, idToken, scopes, secondFactor, sessionEndsAt, transaction } = outcome;
  const kept = {
    accountId,
    accessToken,
    idToken,
    scopes,
    transaction,
    ...(secondFactor && { secondFactor }),
    ...(sessionEndsAt !== undefined && { sessionEndsAt }),
  };
  outcomes.set(ctx, kept);
  return kept;
}

export const keepOutcome = (ctx: KoaContextWithOIDC, kept: StoredOutcome): void => void outcomes.set(ctx, kept);

/** What was decided in this request. */
export const outcomeNow = (ctx: KoaContextWithOIDC): StoredOutcome | undefined => outcomes.get(ctx);

/** Maps a request to the id of the pause that it ends in (pauses.ts). */
const pauses = new WeakMap<object, string>();

export const setPause = (ctx: KoaContextWithOIDC, id: string): void => void pauses.set(ctx, id);
export const pauseNow = (ctx: KoaContextWithOIDC): string | undefined => pauses.get(ctx);

/** The part that an interaction stores. */
export type StoredPause = { actionPause?: string };

type WithOutcome = ({ actions?: StoredOutcome } & StoredPause) | undefined;

/** The pause that the interaction was begun for. */
export const pauseBefore = (ctx: KoaContextWithOIDC): string | undefined =>
  (ctx.oidc.entities.Interaction as WithOutcome)?.actionPause;

/** The decisions that apply to this request's tokens: made in it, or when the code it exchanges was made. */
export function outcomeFor(ctx: KoaContextWithOIDC | undefined): StoredOutcome | undefined {
  if (!ctx) return undefined;
  const entities = ctx.oidc?.entities as { AuthorizationCode?: WithOutcome; DeviceCode?: WithOutcome } | undefined;
  return outcomes.get(ctx) ?? entities?.AuthorizationCode?.actions ?? entities?.DeviceCode?.actions;
}

/** What was decided for the same person before a page came between. */
export function outcomeBefore(ctx: KoaContextWithOIDC, accountId: string): StoredOutcome | undefined {
  const { actions } = (ctx.oidc.entities.Interaction ?? {}) as NonNullable<WithOutcome>;
  return actions?.accountId === accountId ? actions : undefined;
}

/** Whether an action requires a second factor in this request; if the action allows it, a remembered browser is spared. */
export const demandedByAction = (ctx: KoaContextWithOIDC): StoredOutcome['secondFactor'] =>
  outcomes.get(ctx)?.secondFactor;
