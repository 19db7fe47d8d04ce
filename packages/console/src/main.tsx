/** The order of things: settings, who is signed in, then the pages. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiProblem, openApi } from './api/client.ts';
import { answerUrl, handOverAnswer } from './pages/gate/try-answer.ts';
import { makeRouter } from './pages/router.tsx';
import { readConfig } from './session/config.ts';
import { ConsoleContext } from './session/context.ts';
import { openSession, SignedOut } from './session/session.ts';
import './ui/style.css';
import { Problem } from './ui/states.tsx';

const root = createRoot(document.getElementById('root')!);

try {
  // Where a tried sign-in comes back to; it is nobody's page.
  if (location.href.split('?')[0] === answerUrl) handOverAnswer();
  else await start();
} catch (error) {
  root.render(
    <main className="alone">
      <Problem error={error} onRetry={() => location.assign(import.meta.env.BASE_URL)} isPage />
    </main>,
  );
}

async function start(): Promise<void> {
  const session = await openSession(await readConfig());
  const api = openApi(session);
  const { site_admin: isSiteAdmin } = await api.get<{ site_admin: boolean }>('/user');
  const onError = (error: Error) => void (error instanceof SignedOut && session.signIn());
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        networkMode: 'always', // it may all be on this machine
        // What was refused is refused again.
        retry: (count, error) => count < 2 && !(error instanceof ApiProblem) && !(error instanceof SignedOut),
      },
      mutations: { networkMode: 'always' },
    },
  });
  queries.getQueryCache().config.onError = onError;
  queries.getMutationCache().config.onError = onError;
  root.render(
    <StrictMode>
      <ConsoleContext value={{ session, api, isSiteAdmin }}>
        <QueryClientProvider client={queries}>
          <RouterProvider router={makeRouter()} />
        </QueryClientProvider>
      </ConsoleContext>
    </StrictMode>,
  );
}
