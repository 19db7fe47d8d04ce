/** Whether the deliveries of an organization or a hook are paused, which an administrator of the installation decides. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'react-aria-components';
import type { DeliveryStatus } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const statusKey = (owner: string) => ['delivery status', owner];

function useDeliveryStatus(owner: string) {
  const { api } = useConsole();
  return useQuery({
    queryKey: statusKey(owner),
    queryFn: ({ signal }) => api.get<DeliveryStatus>(`/orgs/${encodeURIComponent(owner)}/delivery-status`, signal),
    refetchInterval: 15_000,
  });
}

/** A hook of the organization or, without one, the whole organization. */
type Held = { owner: string; hookId?: string | undefined };

const sinceOf = (status: DeliveryStatus | undefined, { hookId }: Held) =>
  hookId === undefined ? status?.paused_at : status?.paused_hooks.find(({ id }) => String(id) === hookId)?.since;

/** Shows a notice when the hook or its organization is paused. */
export function Paused({ owner, hookId }: Held) {
  const { data } = useDeliveryStatus(owner);
  const hook = hookId && sinceOf(data, { owner, hookId });
  const since = data?.paused_at ?? hook;
  if (!since) return null;
  return (
    <p className="note" role="status">
      Deliveries of {data?.paused_at ? owner : 'this hook'} have been paused by an administrator of the installation
      since <Time at={since} exact />. New deliveries wait, and are sent in order once they are resumed.
    </p>
  );
}

/** Pauses and resumes, for administrators of the installation. */
export function PauseButton({ owner, hookId }: Held) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const { data } = useDeliveryStatus(owner);
  const path =
    hookId === undefined ? `organizations/${encodeURIComponent(owner)}` : `hooks/${encodeURIComponent(hookId)}`;
  const change = useMutation({
    mutationFn: (method: 'PUT' | 'DELETE') => api.send(method, `/admin/${path}/pause`),
    onSuccess: () => queries.invalidateQueries({ queryKey: statusKey(owner) }),
  });
  if (!data) return null;
  const what = hookId === undefined ? `all deliveries of ${owner}` : 'the deliveries of this hook';
  return (
    <>
      {sinceOf(data, { owner, hookId }) ? (
        <Button className="button small" onPress={() => change.mutate('DELETE')} isDisabled={change.isPending}>
          Resume
        </Button>
      ) : (
        <Confirm
          label="Pause"
          size="small"
          kind="primary"
          title={`Pause ${what}?`}
          action="Pause deliveries"
          onConfirm={() => change.mutate('PUT')}
          isDisabled={change.isPending}
        >
          <p>Nothing is delivered until you resume them. New deliveries wait, and are then sent in order.</p>
        </Confirm>
      )}
      {change.error && <Problem error={change.error} />}
    </>
  );
}
