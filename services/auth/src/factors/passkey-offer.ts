/**
 * Passkeys are available in connections with `options.authentication_methods.passkey.enabled`, as at Auth0. Somebody who has just typed a
 * password and has no passkey is offered one; "not now" hides the offer for a while in that browser.
 */
import type { ConnectionModel } from '../generated/models.ts';
import type { Interaction } from '../interaction/interaction.ts';
import { isMultiFactor } from './policy.ts';
import type { ProvenLogin } from './second-factor.ts';
import { hasSecondFactor } from './types.ts';

const declinedDays = 30;
const cookieOf = (secure: boolean) => (secure ? '__Host-no-passkey' : '_no-passkey');

export function hasPasskeys(connection: Pick<ConnectionModel, 'options'> | undefined): boolean {
  const options = connection?.options as { authentication_methods?: { passkey?: { enabled?: unknown } } } | undefined;
  return options?.authentication_methods?.passkey?.enabled === true;
}

export async function isPasskeyOffered(interaction: Interaction, { account, amr }: ProvenLogin): Promise<boolean> {
  const { parts, request } = interaction;
  if (!amr.includes('pwd')) return false;
  const enabled = (await parts.connections.list(interaction.client.clientId)).filter(hasPasskeys);
  if (enabled.length === 0 || (request.get('cookie') ?? '').includes(`${cookieOf(parts.secure)}=`)) return false;
  const found = await parts.accounts.find(account.userId);
  if (!found || !isOffered(enabled, found)) return false;
  // A passkey counts as several factors: with a second factor set up, a password alone must not add one, even if no policy asks for more here.
  return isMultiFactor(amr) || !hasSecondFactor(found.factors);
}

const isOffered = (enabled: ConnectionModel[], { connection, factors }: { connection: string; factors: string[] }) =>
  enabled.some(({ name }) => name === connection) && !factors.includes('passkey');

/** "Not now". */
export function declinePasskey({ parts: { secure }, response }: Interaction): void {
  const maxAge = declinedDays * 86_400_000;
  response.cookie(cookieOf(secure), '1', { httpOnly: true, sameSite: 'lax', secure, maxAge });
}
