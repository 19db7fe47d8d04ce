/** The results of the actions that a log entry is about; the gate keeps them for a day. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import type { ActionExecution, LogEntry } from '../../api/management-types.ts';
import { Empty, Loading, Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { triggerOf } from './actions.tsx';
import { useGate } from './gate-page.tsx';

export function executionsOf({ details }: LogEntry): string[] {
  const { executions } = (details.actions ?? {}) as { executions?: unknown };
  return Array.isArray(executions) ? executions.filter((id) => typeof id === 'string') : [];
}

/** Loaded only when somebody wants to see it. */
export function Execution({ id }: { id: string }) {
  const { api, may } = useGate();
  const [isOpen, setOpen] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['gate', 'execution', id],
    queryFn: ({ signal }) => api.get<ActionExecution>(`/actions/executions/${encodeURIComponent(id)}`, signal),
    enabled: isOpen,
    staleTime: Number.POSITIVE_INFINITY, // it is over
  });
  if (!may('read:actions')) return null;
  return (
    <details className="execution" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Action execution</summary>
      {error instanceof ApiProblem && error.status === 404 ? (
        <Empty title="Executions are kept for one day">
          <p>Only the log entry above is left of this execution.</p>
        </Empty>
      ) : error ? (
        <Problem error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading what="the execution" />
      ) : (
        <ul className="rows">
          {data.results.map((result) => (
            <li key={result.started_at} className="row">
              <span className="grow">
                <strong>{result.action_name}</strong>
                {result.error && <span className="bad-text why">{result.error.msg}</span>}
                <span className="soft">
                  {triggerOf({ supported_triggers: [{ id: data.trigger_id }] }).text} ·{' '}
                  <Time at={result.started_at} exact /> · {Date.parse(result.ended_at) - Date.parse(result.started_at)}{' '}
                  ms
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
