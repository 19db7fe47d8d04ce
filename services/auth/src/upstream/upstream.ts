/** The parts that a sign-in at another provider, and the linking of an identity there, have in common. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { AccountStore } from '../accounts/store.ts';
import type { SettingsStore } from '../settings/store.ts';
import { makeOpenUpstreamAccount, type OpenUpstreamAccount } from './account.ts';
import type { Attempts } from './attempts.ts';
import type { Remotes } from './discovery.ts';
import type { UpstreamTokens } from './tokens.ts';

export type Upstream = {
  /** The address that providers answer to. */
  callback: string;
  remotes: Remotes;
  attempts: Attempts;
  openAccount: OpenUpstreamAccount;
};

export function makeUpstream(parts: {
  issuer: string;
  remotes: Remotes;
  attempts: Attempts;
  accounts: AccountStore;
  settings: SettingsStore;
  upstreamTokens: UpstreamTokens;
}): Upstream {
  const { issuer, remotes, attempts } = parts;
  return {
    callback: `${baseUrlOf(issuer)}login/callback`,
    remotes,
    attempts,
    openAccount: makeOpenUpstreamAccount(parts),
  };
}
