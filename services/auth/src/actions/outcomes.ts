/**
 * What actions have decided for a request, while it lasts; and where a code or a page comes between, with that (library/action-outcomes.ts
 * keeps it there).
 */
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Outcome } from './outcome.ts';

/** Whose it is: another person’s is not taken over. */
export type KeptOutcome = Pick<
  Outcome,
  'accessToken' | 'idToken' | 'scopes' | 'secondFactor' | 'sessionEndsAt' | 'transaction'
> & {
  accountId: string;
};

const outcomes = new WeakMap<object, KeptOutcome>();

export function setOutcome(ctx: KoaContextWithOIDC, accountId: string, outcome: Outcome): KeptOutcome {
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

export const keepOutcome = (ctx: KoaContextWithOIDC, kept: KeptOutcome): void => void outcomes.set(ctx, kept);

/** What was decided in this request. */
export const outcomeNow = (ctx: KoaContextWithOIDC): KeptOutcome | undefined => outcomes.get(ctx);

/** The id of the pause that this request ends in (pauses.ts). */
const pauses = new WeakMap<object, string>();

export const setPause = (ctx: KoaContextWithOIDC, id: string): void => void pauses.set(ctx, id);
export const pauseNow = (ctx: KoaContextWithOIDC): string | undefined => pauses.get(ctx);

/** What an interaction holds of it. */
export type KeptPause = { actionPause?: string };

type Carrier = ({ actions?: KeptOutcome } & KeptPause) | undefined;

/** The pause that the interaction was begun for. */
export const pauseBefore = (ctx: KoaContextWithOIDC): string | undefined =>
  (ctx.oidc.entities.Interaction as Carrier)?.actionPause;

/** What counts for the tokens of this request: decided in it, or when the code was made that it exchanges. */
export function outcomeFor(ctx: KoaContextWithOIDC | undefined): KeptOutcome | undefined {
  if (!ctx) return undefined;
  const entities = ctx.oidc?.entities as { AuthorizationCode?: Carrier; DeviceCode?: Carrier } | undefined;
  return outcomes.get(ctx) ?? entities?.AuthorizationCode?.actions ?? entities?.DeviceCode?.actions;
}

/** What was decided before a page came between, for the same person. */
export function outcomeBefore(ctx: KoaContextWithOIDC, accountId: string): KeptOutcome | undefined {
  const { actions } = (ctx.oidc.entities.Interaction ?? {}) as NonNullable<Carrier>;
  return actions?.accountId === accountId ? actions : undefined;
}

/** Whether an action wants a second factor in this request; a remembered browser may spare it if the action says so. */
export const demandedByAction = (ctx: KoaContextWithOIDC): KeptOutcome['secondFactor'] =>
  outcomes.get(ctx)?.secondFactor;
