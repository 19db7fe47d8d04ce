/** The pages for a signed-in person. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { ApiProblem, openApi } from './api/client.ts';
import { makeRouter } from './pages/router.tsx';
import { ConsoleContext } from './session/context.ts';
import { SignedOut } from './session/errors.ts';
import type { Session } from './session/session.ts';
import { Problem } from './ui/states.tsx';
import { noteAnswered, noteSent } from './ui/unsaved-input.ts';

let root: Root | undefined;

const theRoot = () => {
  root ??= createRoot(document.getElementById('root')!);
  return root;
};

/** Starts loading the page at this address. @returns a function that shows it, once it is known who is looking */
export function openPages(): (session: Session) => void {
  const router = makeRouter();
  void router.load();
  return (session) => {
    const queries = new QueryClient({
      defaultOptions: {
        queries: {
          staleTime: 5_000,
          networkMode: 'always', // everything may be on this machine
          refetchOnReconnect: true, // with that mode it is not the default
          // A refused request would be refused again.
          retry: (count, error) => count < 2 && !(error instanceof ApiProblem) && !(error instanceof SignedOut),
        },
        mutations: { networkMode: 'always' },
      },
    });
    queries.getMutationCache().subscribe((event) => {
      if (event.type === 'added') noteSent(event.mutation);
      if (event.type === 'updated' && (event.action.type === 'success' || event.action.type === 'error'))
        noteAnswered(event.mutation, event.action.type === 'success');
    });
    theRoot().render(
      <StrictMode>
        <ConsoleContext value={{ session, api: openApi(session), isSiteAdmin: session.isSiteAdmin }}>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </ConsoleContext>
      </StrictMode>,
    );
  };
}

/** Shows the problem that prevents signing in. */
export function showProblem(error: unknown): void {
  theRoot().render(
    <main className="alone">
      <Problem error={error} onRetry={() => location.assign(import.meta.env.BASE_URL)} isPage />
    </main>,
  );
}
