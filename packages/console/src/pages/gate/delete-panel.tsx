/** The last panel of a page: deletes the page's subject, and goes back to the list. */
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { type LinkProps, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Confirm } from '../../ui/confirm.tsx';
import { Problem } from '../../ui/states.tsx';
import { useGate } from './gate-page.tsx';

export function DeletePanel({
  what,
  name,
  path,
  list,
  itemKey,
  children,
}: {
  /** Its kind, such as "role". */
  what: string;
  name: string;
  /** Its path in the management API. */
  path: string;
  list: { to: LinkProps['to']; key: QueryKey };
  /** Its key in the query cache. */
  itemKey: QueryKey;
  /** What is deleted along with it. */
  children: ReactNode;
}) {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', path),
    onSuccess: async () => {
      // Leaves its page first, which would otherwise ask for the deleted thing once more.
      await navigate({ to: list.to, ignoreBlocker: true });
      queries.removeQueries({ queryKey: itemKey });
      await queries.invalidateQueries({ queryKey: list.key });
    },
  });
  return (
    <section className="panel" aria-label={`Delete this ${what}`}>
      <div className="title">
        <h2>Delete this {what}</h2>
        <span className="grow" />
        <Confirm
          label="Delete"
          title={`Delete ${name}?`}
          action={`Delete the ${what}`}
          onConfirm={() => remove.mutate()}
        >
          <p>{children}</p>
        </Confirm>
      </div>
      {remove.error && <Problem error={remove.error} />}
    </section>
  );
}
