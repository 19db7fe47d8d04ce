/**
 * Between the first factor and the login: what is due, how it begins, and how it ends. The pages (challenge.ts, enrol.ts) prove or set up
 * a second factor; until then nobody is signed in.
 *
 *   first factor ──► due? ──► challenge ────────────┐
 *       │               └───► enrolment ──► codes ──┤
 *       └──────────────────────────────────────────►└──► logged in
 *   session that needs more (prompt `mfa`) ──► the same
 */
import type { Client } from 'oidc-provider';
import { type AccountState, stateOf } from '../accounts/store.ts';
import type { StoredOutcome } from '../actions/outcomes.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import type { Interaction } from '../interaction/interaction.ts';
import { connectionOfSession, loginOf } from '../library/sessions.ts';
import { isFresh } from './fresh.ts';
import { isPasskeyOffered } from './passkey-offer.ts';
import type { Pending } from './pending.ts';
import {
  demandsMultiFactor,
  isMultiFactor,
  multiFactorAcr,
  type SecondFactorDue,
  secondFactorDue,
  signInAcr,
} from './policy.ts';
import { isRememberedBrowser, rememberBrowser } from './remembered.ts';
import { mfaSettingsOf } from './types.ts';

/** A finished login, and how it was proven. */
export type ProvenLogin = {
  account: AccountState;
  amr: string[];
  /** The connection by which the first factor was proven, if known. */
  connection?: string | undefined;
  /**
   * When the first factor was proven, in epoch seconds. The session counts from then, not from when the browser returns with the login,
   * which may be after a password change.
   */
  at: number;
  /** A remembered browser was spared the second factor. */
  isRemembered?: boolean;
  /** Already logged when the first factor was proven. */
  isReported?: boolean;
};

/** What this login still needs. */
export function dueOf(given: {
  settings: Pick<SettingsModel, 'mfa'>;
  client: Client;
  factors: readonly string[];
  params: Record<string, unknown>;
  amr: readonly string[] | undefined;
  isRemembered?: boolean;
  /** Set if an action requires one (actions/post-login.ts). */
  byAction?: { allowRememberBrowser: boolean } | undefined;
}): SecondFactorDue {
  const { settings, client, factors, params, amr, isRemembered = false, byAction } = given;
  if (isMultiFactor(amr)) return { kind: 'none' };
  const demanded =
    demandsMultiFactor(params) || (byAction !== undefined && !(isRemembered && byAction.allowRememberBrowser));
  // A cookie proves nothing: it waives what the policy asks for, but not what a request asks for.
  if (isRemembered && !demanded) return { kind: 'none' };
  const policy = (client as Client & Partial<OwnMetadata>).mfa_policy;
  return secondFactorDue({ settings: mfaSettingsOf(settings), policy, factors, demanded });
}

/** Continues the authorization request with this account, after a second factor if one is due. */
export async function finishLogin(
  interaction: Interaction,
  account: AccountModel,
  proven: Pick<ProvenLogin, 'amr' | 'connection' | 'isReported'>,
): Promise<void> {
  const { isDue, isRemembered } = await beginSecondFactor(interaction, account, proven);
  const at = interaction.begunAt;
  if (!isDue) await completeLogin(interaction, { ...proven, account: stateOf(account), at, isRemembered });
}

/** Sends the browser to the second factor if one is due; otherwise says that none is, and whether a remembered browser was spared it. */
async function beginSecondFactor(
  interaction: Interaction,
  account: AccountModel,
  { amr, connection, isReported }: Pick<ProvenLogin, 'amr' | 'connection' | 'isReported'>,
): Promise<{ isDue: boolean; isRemembered: boolean }> {
  const { parts, client, params } = interaction;
  const settings = await parts.settings.load();
  const asked = { settings, client, factors: account.factors, params, amr };
  const due = dueOf(asked);
  if (due.kind === 'none') return { isDue: false, isRemembered: false };
  if (
    dueOf({ ...asked, isRemembered: true }).kind === 'none' &&
    (await isRememberedBrowser(interaction, account.userId))
  )
    return { isDue: false, isRemembered: true };
  parts.factorEvents.asked(eventOf(interaction, account.userId));
  await parts.pending.save(ownerOf(interaction), {
    account: stateOf(account),
    amr,
    connection,
    at: interaction.begunAt,
    due: due.kind,
    types: due.types,
    isStepUp: false,
    isReported: isReported === true,
  });
  await interaction.turnTo('mfa');
  return { isDue: true, isRemembered: false };
}

/**
 * The person who has to prove a second factor in this interaction: somebody who has just proven the first, or the owner of a session that
 * needs more. Undefined when there is nobody (any more), and the login starts over.
 */
export async function pendingOf(interaction: Interaction): Promise<Pending | undefined> {
  const { parts, details, client, params, prompt } = interaction;
  const known = await parts.pending.find(ownerOf(interaction));
  if (known || prompt !== 'mfa' || !details.session) return known;
  const [session, account, settings] = await Promise.all([
    parts.provider.Session.findByUid(details.session.uid),
    parts.accounts.find(details.session.accountId),
    parts.settings.load(),
  ]);
  if (!session || !account || account.blocked || account.incarnation !== loginOf(session).incarnation) return undefined;
  const amr = (session as { amr?: string[] }).amr ?? [];
  const { actions } = details as { actions?: StoredOutcome };
  const byAction = actions?.accountId === account.userId ? actions.secondFactor : undefined;
  const due = dueOf({ settings, client, factors: account.factors, params, amr, byAction });
  if (due.kind === 'none') return undefined;
  // An action requires it; prompt.ts has not checked how old the login is.
  if (byAction && due.kind === 'enrolment' && !isFresh(loginOf(session).from)) return undefined;
  parts.factorEvents.asked(eventOf(interaction, account.userId));
  const pending: Pending = {
    account: stateOf(account),
    amr,
    connection: connectionOfSession(session),
    at: loginOf(session).from ?? interaction.begunAt,
    due: due.kind,
    types: due.types,
    isStepUp: true,
    isReported: true,
  };
  return parts.pending.save(ownerOf(interaction), pending);
}

/**
 * Takes the pending login; false when another form of this interaction was faster. That may have been somebody else's password, and their
 * login waits here now: what was proven for the one must not complete the other.
 */
export async function takePending(interaction: Interaction, pending: Pending): Promise<boolean> {
  return interaction.parts.pending.takeSame(ownerOf(interaction), pending);
}

export async function keepPending(interaction: Interaction, pending: Pending): Promise<void> {
  await interaction.parts.pending.save(ownerOf(interaction), pending);
}

/** Continues the login with both factors. The pending login has been taken. */
export async function provenTwice(
  interaction: Interaction,
  pending: Pending,
  proof: { amr: string[]; remember?: boolean },
): Promise<void> {
  const { account, connection, at, isReported } = pending;
  const amr = [...new Set([...pending.amr, ...proof.amr])];
  if (proof.remember) await rememberBrowser(interaction, account.userId);
  const login = { account, amr, connection, at, isReported };
  // An existing session gets stronger, but keeps its beginning.
  if (pending.isStepUp) return interaction.finish({ mfa: {}, login: loginResult(login) });
  return completeLogin(interaction, login);
}

/** Everything required is proven: the login continues, perhaps after offering a passkey. */
async function completeLogin(interaction: Interaction, login: ProvenLogin): Promise<void> {
  return (await isPasskeyOffered(interaction, login))
    ? offerPasskey(interaction, login)
    : continueAuthorization(interaction, login);
}

async function offerPasskey(interaction: Interaction, login: ProvenLogin): Promise<void> {
  const { account, amr, connection, at, isRemembered = false, isReported = false } = login;
  const rest = { isRemembered, isReported, isStepUp: false, types: [] };
  await keepPending(interaction, { account, amr, connection, at, due: 'passkey', ...rest });
  return interaction.turnTo('mfa/passkey');
}

/** Continues the authorization request as this account. */
export async function continueAuthorization(interaction: Interaction, login: ProvenLogin): Promise<void> {
  const { parts, prompt, client, address } = interaction;
  const noted = login.isReported ? {} : { loggedInAt: Date.now() };
  if (!login.isReported) parts.report.loggedIn(login.account, client.clientId, address, login.amr);
  const selected = prompt === 'select_account' ? { select_account: {} } : {};
  await interaction.finish({ ...selected, login: { ...loginResult(login), ...noted } }, false);
}

/** The login in the library's form. */
function loginResult({ account, amr, connection, at, isRemembered }: ProvenLogin) {
  return {
    accountId: account.userId,
    incarnation: account.incarnation,
    amr,
    acr: isMultiFactor(amr) ? multiFactorAcr : signInAcr,
    ts: at,
    ...(connection !== undefined && { connection }),
    ...(isRemembered && { isRemembered }),
  };
}

export const ownerOf = ({ uid }: Interaction) => `interaction ${uid}`;

export const eventOf = ({ client, address }: Interaction, userId: string) => ({
  userId,
  clientId: client.clientId,
  ip: address,
});
