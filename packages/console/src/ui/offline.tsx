import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiProblem } from '../api/client.ts';

/** Says so while the browser has no network and gets no answer; what was read stays on the page. */
export function Offline() {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  const isAnswered = useAnswers();
  if (isOnline || isAnswered) return null;
  return (
    <p className="note" role="status">
      You are offline: what you see may be old, and goes on by itself once you are back.
    </p>
  );
}

/** A system on this machine answers without a network, too. */
function useAnswers(): boolean {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(notifyManager.batchCalls(listener)),
    () =>
      cache.findAll({ type: 'active' }).every(({ state }) => {
        const reason = state.fetchFailureReason ?? state.error;
        return reason === null || reason instanceof ApiProblem;
      }),
  );
}

function subscribe(listener: () => void) {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}
