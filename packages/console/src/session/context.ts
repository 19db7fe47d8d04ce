import { createContext, use } from 'react';
import type { Api } from '../api/client.ts';
import type { Session } from './session.ts';

export const ConsoleContext = createContext<{ session: Session; api: Api } | null>(null);

/** Who is signed in, and the API as that person. */
export function useConsole(): { session: Session; api: Api } {
  const value = use(ConsoleContext);
  if (!value) throw new Error('outside of the console');
  return value;
}
