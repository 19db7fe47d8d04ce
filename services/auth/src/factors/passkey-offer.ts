/**
 * Where passkeys are: connections whose `options.authentication_methods.passkey.enabled` says so, as at Auth0. Who has just typed a password
 * and has none is offered one, until he says "not now", which lasts a while in that browser.
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
  // It will count as several factors: who has a second one adds none by the password alone, though no policy asks for more here.
  return isMultiFactor(amr) || !hasSecondFactor(found.factors);
}

const isOffered = (enabled: ConnectionModel[], { connection, factors }: { connection: string; factors: string[] }) =>
  enabled.some(({ name }) => name === connection) && !factors.includes('passkey');

/** "Not now". */
export function declinePasskey({ parts: { secure }, response }: Interaction): void {
  const maxAge = declinedDays * 86_400_000;
  response.cookie(cookieOf(secure), '1', { httpOnly: true, sameSite: 'lax', secure, maxAge });
}
