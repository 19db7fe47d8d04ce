import { useQuery } from '@tanstack/react-query';
import type { Place } from '../api/place.ts';
import type { DeliveryStatus } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Time } from '../ui/time.tsx';

/** Says so when an administrator of the installation has paused the hook or its organization; else nothing. */
export function Paused({ place: { owner }, hookId }: { place: Place; hookId: string }) {
  const { api } = useConsole();
  const { data } = useQuery({
    queryKey: ['delivery status', owner],
    queryFn: ({ signal }) => api.get<DeliveryStatus>(`/orgs/${encodeURIComponent(owner)}/delivery-status`, signal),
    refetchInterval: 15_000,
  });
  const hook = data?.paused_hooks.find(({ id }) => String(id) === hookId);
  const since = data?.paused_at ?? hook?.since;
  if (!since) return null;
  return (
    <p className="note" role="status">
      {data?.paused_at ? `All of ${owner} is` : 'This hook is'} paused since <Time at={since} exact /> by an
      administrator of the installation. What comes waits, and goes out in its order once it is resumed.
    </p>
  );
}
