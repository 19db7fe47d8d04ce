/**
 * The account of somebody who signed in elsewhere: found by the connection and the provider's own id for the person, created at the
 * first sign-in. Never found by address: an account with the same address, proven or not, is somebody else's until an administrator or
 * the person links the two (accounts/link.ts).
 */
import type { AccountStore } from '../accounts/store.ts';
import type { AccountModel } from '../generated/models.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Remote } from './discovery.ts';
import type { Tokens } from './exchange.ts';
import { UpstreamFailure } from './failure.ts';
import { type Profile, type ProviderClaims, profileOf, subjectOf } from './profile.ts';
import { userIdOf } from './strategies.ts';
import type { UpstreamTokens } from './tokens.ts';

export type OpenUpstreamAccount = (
  remote: Remote,
  answered: { claims: ProviderClaims; tokens: Tokens },
  /** Linking is not a sign-up. */
  options?: { isLink?: boolean },
) => Promise<{ account: AccountModel; isNew: boolean }>;

type Parts = { accounts: AccountStore; settings: SettingsStore; upstreamTokens: UpstreamTokens };

/** @returns the account of that identity, even if it is linked to another. @throws UpstreamFailure */
export function makeOpenUpstreamAccount({ accounts, settings, upstreamTokens }: Parts): OpenUpstreamAccount {
  return async (remote, { claims, tokens }, { isLink = false } = {}) => {
    const userId = userIdOf(remote, subjectOf(remote, claims));
    const profile = profileOf(remote, claims);
    const known = await accounts.find(userId);
    const account = known ? await updated(known) : await created();
    if (account.connection !== remote.name) throw new UpstreamFailure('taken');
    if (account.blocked) throw new UpstreamFailure('blocked');
    if (remote.options.federated_connections_access_tokens?.active) await upstreamTokens.save(userId, tokens);
    return { account, isNew: !known };

    /** A directory decides for itself who is in it; with other providers a first sign-in is a sign-up. */
    async function created(): Promise<AccountModel> {
      if (!isLink && remote.definition.kind === 'social' && !(await settings.load()).allowSignup)
        throw new UpstreamFailure('no_signup');
      const made = await accounts.create({ ...profile, userId, connection: remote.name, connectionId: remote.id });
      if (made === 'no_connection') throw new UpstreamFailure('not_enabled');
      // Two windows may finish at once.
      const found = made ?? (await accounts.find(userId));
      if (!found) throw new UpstreamFailure('taken');
      return found;
    }

    async function updated(found: AccountModel): Promise<AccountModel> {
      const isAsked = (remote.options.set_user_root_attributes ?? 'on_each_login') === 'on_each_login';
      const current = remote.definition.nameOnce ? withName(profile, found) : profile;
      if (!isAsked || found.connection !== remote.name || isSame(found, current)) return found;
      // A concurrent change counts too.
      return (await accounts.updateState(found, current)) ?? (await accounts.find(userId)) ?? found;
    }
  };
}

/** What is not sent of the name stays as it is. */
function withName(profile: Profile, found: AccountModel): Profile {
  return {
    ...profile,
    name: profile.name ?? found.name,
    givenName: profile.givenName ?? found.givenName,
    familyName: profile.familyName ?? found.familyName,
  };
}

function isSame(account: AccountModel, profile: Profile): boolean {
  return (Object.keys(profile) as (keyof Profile)[]).every((name) => account[name] === profile[name]);
}
