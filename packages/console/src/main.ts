/**
 * The order of things: settings, who is signed in, then the pages. What leads to the gate is little; the pages are loaded for who comes back
 * from it, while the gate is asked for the tokens.
 */
import { answerUrl, handOverAnswer } from './pages/gate/try-answer.ts';
import { handOverBeside, isBeside } from './session/beside.ts';
import { readConfig } from './session/config.ts';
import { hasAnswer, openSession } from './session/session.ts';
import './ui/style.css';

// Where a tried sign-in comes back to; it is nobody's page.
if (location.href.split('?')[0] === answerUrl) handOverAnswer();
else if (isBeside(location.search)) handOverBeside(location.search);
else await start();

async function start(): Promise<void> {
  try {
    const isBack = hasAnswer();
    const session = openSession(readConfig());
    session.catch(() => {}); // it is awaited below
    // Its address is that of the page again, which is loaded meanwhile. Who leaves for the gate needs none.
    const show = isBack ? (await import('./app.tsx')).openPages() : undefined;
    const opened = await session;
    show?.(opened);
  } catch (error) {
    const { showProblem } = await import('./app.tsx');
    showProblem(error);
  }
}
