/** Redelivers the selected deliveries, a few at a time, showing progress and refusals. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Delivery } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import type { Selection } from '../ui/selection.tsx';
import { textOf } from '../ui/states.tsx';

const atOnce = 4;

type Progress = { done: number; total: number; refused: { id: number; name: string; message: string }[] };

export function RedeliverChosen({
  path,
  rows,
  selection,
}: {
  path: string;
  rows: Delivery[];
  selection: Selection<number>;
}) {
  const { api } = useConsole();
  const [progress, setProgress] = useState<Progress>();
  const redeliver = useMutation({
    mutationFn: async (chosen: Delivery[]) => {
      const now: Progress = { done: 0, total: chosen.length, refused: [] };
      setProgress({ ...now });
      const left = [...chosen].reverse(); // in the order of their attempts
      const work = async () => {
        for (let one = left.shift(); one; one = left.shift()) {
          const { id, event, guid } = one;
          await api.send('POST', `${path}/deliveries/${id}/attempts`).catch((error: unknown) => {
            now.refused = [...now.refused, { id, name: `${event} ${guid}`, message: textOf(error) }];
          });
          now.done += 1;
          setProgress({ ...now });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
    },
    onSuccess: () => selection.set([]),
  });
  const chosen = rows.filter(({ id }) => selection.has(id));
  const many = chosen.length === 1 ? 'one delivery' : `${chosen.length} deliveries`;
  return (
    <>
      <Confirm
        label="Redeliver"
        kind="primary"
        title={`Redeliver ${many}?`}
        action="Redeliver"
        onConfirm={() => redeliver.mutate(chosen)}
        isDisabled={chosen.length === 0 || redeliver.isPending}
      >
        <p>The receiver gets each of them again with the same GUID, including those it has already accepted.</p>
      </Confirm>
      <span className="soft">{chosen.length > 0 && `${chosen.length} selected`}</span>
      {progress && (
        <div className="progress" role="status">
          {redeliver.isPending && (
            <progress aria-label="Redelivery" value={progress.done} max={Math.max(progress.total, 1)} />
          )}
          <span className="soft">
            {progress.done - progress.refused.length} of {progress.total} are being redelivered
          </span>
          {progress.refused.length > 0 && (
            <details open>
              <summary className="bad-text">{progress.refused.length} were refused</summary>
              <ul>
                {progress.refused.map(({ id, name, message }) => (
                  <li key={id}>
                    <code>{name}</code> {message}
                  </li>
                ))}
              </ul>
            </details>
          )}
          {!redeliver.isPending && (
            <Button className="button small" onPress={() => setProgress(undefined)}>
              Close
            </Button>
          )}
        </div>
      )}
    </>
  );
}
