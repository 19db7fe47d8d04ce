/** A part of the console that could not be loaded: nobody answers, or an upgrade has replaced its files since the page was opened. */
const nameOfError = 'MissingPart';
const reloadedKey = 'gatepost reloaded';

// Vite announces each such error before it throws it. In our words the router also does not know it: it would reload the page even while
// nobody answers.
window.addEventListener('vite:preloadError', ({ payload }) => {
  payload.name = nameOfError;
  payload.message = 'You may be offline, or the console was updated since you opened it. Trying again reloads it.';
});

export const isMissingPart = (error: unknown): boolean => error instanceof Error && error.name === nameOfError;

/** Only once somebody answers, since the browser's own error would replace the page. */
export async function reload(): Promise<void> {
  const answer = await fetch(import.meta.env.BASE_URL, { cache: 'no-store' }).catch(() => undefined);
  if (!answer?.ok) return;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  location.reload();
}

/** Reloads as soon as somebody answers, unless that was done a moment ago and did not help. @returns how to stop */
export function reloadOnce(): () => void {
  if (Date.now() - Number(sessionStorage.getItem(reloadedKey)) < 60_000) return () => {};
  void reload();
  const timer = setInterval(() => void reload(), 3_000);
  return () => clearInterval(timer);
}
