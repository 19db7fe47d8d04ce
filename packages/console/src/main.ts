/**
 * The order of starting: settings, sign-in, then the pages. Little is needed to get to the gate; the pages are loaded for those who come back
 * from it, while the gate is asked for the tokens.
 */
import { answerUrl, handOverAnswer } from './pages/gate/try-answer.ts';
import { readConfig } from './session/config.ts';
import { hasAnswer, openSession } from './session/session.ts';
import { handOverWindowAnswer, isSignInWindow } from './session/sign-in-window.ts';
import './ui/style.css';

// Where a tried sign-in returns to; it is not a page for people.
if (location.href.split('?')[0] === answerUrl) handOverAnswer();
else if (isSignInWindow(location.search)) handOverWindowAnswer(location.search);
else await start();

async function start(): Promise<void> {
  try {
    const isBack = hasAnswer();
    const session = openSession(readConfig());
    session.catch(() => {}); // it is awaited below
    // The page's address is restored by now, so the page loads meanwhile. A visitor leaving for the gate needs none.
    const show = isBack ? (await import('./app.tsx')).openPages() : undefined;
    const opened = await session;
    show?.(opened);
  } catch (error) {
    const { showProblem } = await import('./app.tsx');
    showProblem(error);
  }
}
