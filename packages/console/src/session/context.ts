import { createContext, use } from 'react';
import type { Api } from '../api/client.ts';
import type { Session } from './session.ts';

export type Console = {
  session: Session;
  /** The webhook API, used as the signed-in person. */
  api: Api;
  /** Whether the person administers the installation: all accounts, limits and dead letters. The API refuses others anyway. */
  isSiteAdmin: boolean;
};

export const ConsoleContext = createContext<Console | null>(null);

/** The signed-in person, and the API as that person. */
export function useConsole(): Console {
  const value = use(ConsoleContext);
  if (!value) throw new Error('outside of the console');
  return value;
}
