import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { Button } from 'react-aria-components';
import { isAway, titleOf } from './states.tsx';

/** Shows a notice while nobody answers; the data read and anything typed stay on the page. */
export function Offline() {
  const queries = useQueryClient();
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  const reason = useReason();
  if (!reason) return null;
  if (!isOnline)
    return (
      <p className="note" role="status">
        You are offline. What you see may be out of date, and updates when you are back online.
      </p>
    );
  // A page with nothing to show says it itself.
  if (!reason.isShown) return null;
  return (
    <p className="note" role="status">
      {titleOf(reason.error)}. What you see may be out of date.{' '}
      <Button className="button small" onPress={() => queries.refetchQueries({ type: 'active' })}>
        Try again
      </Button>
    </p>
  );
}

/** Why the visible data could not be read just now. A system on this machine answers even without a network. */
function useReason(): { error: Error; isShown: boolean } | undefined {
  const cache = useQueryClient().getQueryCache();
  const told = useSyncExternalStore(
    (listener) => cache.subscribe(notifyManager.batchCalls(listener)),
    () => cache.findAll({ type: 'active' }).find(({ state }) => isAway(state.fetchFailureReason ?? state.error)),
  );
  // The same query may fail again: only the differences above are compared.
  if (!told) return undefined;
  const { data, error, fetchFailureReason } = told.state;
  return { error: (fetchFailureReason ?? error)!, isShown: data !== undefined };
}

function subscribe(listener: () => void) {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}
