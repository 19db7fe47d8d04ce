/** Handles an ended session: if something was typed, requests wait until somebody has signed in again, and then continue. */
import type { UserManager, UserManagerSettings } from 'oidc-client-ts';
import { forgetUnsavedInput, hasUnsavedInput } from '../ui/unsaved-input.ts';
import { signInByWindow } from './sign-in-window.ts';

export type Renewal = {
  /** Whether requests wait for somebody to sign in. */
  isWanted(): boolean;
  /** Calls `listener` when that changes; returns how to stop. */
  subscribe(listener: () => void): () => void;
  /** Opens a window for it; must be called from a press. @throws when none is opened, or the gate refuses */
  signIn(): Promise<void>;
};

export function openRenewal(
  manager: UserManager,
  settings: UserManagerSettings,
  { sub, leave }: { sub: string; leave: () => Promise<never> },
): Renewal & { wait(): Promise<void> } {
  let waiting: { done: Promise<void>; end: () => void } | undefined;
  const listeners = new Set<() => void>();
  const set = (value: typeof waiting) => {
    waiting = value;
    for (const listener of listeners) listener();
  };
  return {
    isWanted: () => waiting !== undefined,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Resolves once somebody is signed in again. If nothing would be lost, leaves the page for the gate's. */
    async wait() {
      if (!waiting && !hasUnsavedInput()) return leave();
      if (!waiting) {
        let end = () => {};
        const done = new Promise<void>((resolve) => {
          end = resolve;
        });
        set({ done, end });
      }
      await waiting!.done;
    },
    async signIn() {
      const answer = await signInByWindow(settings);
      const user = await manager.signinRedirectCallback(settings.redirect_uri + answer);
      // Everything shown and typed belongs to another person.
      if (user.profile.sub !== sub) {
        forgetUnsavedInput();
        return location.reload();
      }
      const { end } = waiting ?? {};
      set(undefined);
      end?.();
    },
  };
}
