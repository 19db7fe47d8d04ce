/** Messages that could not be accepted: why, and what to do with them. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { DeadLetter } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Select } from '../ui/fields.tsx';
import { Tick, TickAll, useSelection } from '../ui/selection.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { useTitle } from '../ui/title.ts';
import { isTime, letterKey, reasons, textOf } from './dead-reasons.ts';

const liveMs = 10_000;

export function DeadLetters() {
  useTitle('Dead letters');
  return useConsole().isSiteAdmin ? <Letters /> : <NotYours />;
}

/** For pages reserved to administrators of the installation; the API refuses others anyway. */
export function NotYours() {
  return (
    <Empty title="Only administrators of the installation can see this page" isPage>
      <p>It shows data of all accounts.</p>
    </Empty>
  );
}

function Letters() {
  const { api } = useConsole();
  const [reason, setReason] = useState('');
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...letterKey, reason],
    initialPageParam: `/admin/dead-letters?per_page=50${reason && `&reason=${encodeURIComponent(reason)}`}`,
    queryFn: ({ pageParam, signal }) => api.page<DeadLetter>(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    refetchInterval: liveMs,
  });
  const letters = data?.pages.flatMap(({ rows }) => rows) ?? [];
  const shown = [...new Set(letters.map(({ id }) => id))];
  const selection = useSelection(shown);
  return (
    <>
      <h1>Dead letters</h1>
      <p className="soft">
        Messages that were published but could not be accepted. They were not delivered, and stay here until somebody
        publishes them again or deletes them.
      </p>
      <div className="pair narrow">
        <Select
          label="Reason"
          value={reason}
          onChange={setReason}
          options={[['', 'Any'], ...Object.entries(reasons).map(([name, { text }]) => [name, text] as const)]}
        />
        <Decide ids={selection.ids} onDone={() => selection.set([])} />
      </div>
      {isInTheWay(error, data) && <Problem error={error} onRetry={refetch} />}
      {!data ? (
        !error && <Loading what="dead letters" />
      ) : letters.length === 0 ? (
        <Empty title={reason ? 'No dead letters for this reason' : 'There are no dead letters'}>
          {!reason && <p>Everything that was published was accepted.</p>}
        </Empty>
      ) : (
        <div className="panel">
          <div className="row bar">
            <TickAll shown={shown} selection={selection} label="Select all shown" />
            <span className="soft">
              {selection.ids.length} of {shown.length} {hasNextPage ? 'shown' : ''} selected
            </span>
          </div>
          <ul className="rows">
            {letters.map((letter, at) => (
              // Equal letters have the same id.
              // biome-ignore lint/suspicious/noArrayIndexKey: the place tells equal ones apart
              <li key={`${letter.id} ${at}`} className="ticked">
                <Tick
                  label={`${letter.event ?? 'unknown'}, ${letter.reason}, ${letter.message_id ?? letter.id}`}
                  isSelected={selection.has(letter.id)}
                  onChange={(is) => selection.toggle(letter.id, is)}
                />
                <LetterLink letter={letter} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetchingNextPage}>
          More
        </Button>
      )}
    </>
  );
}

function LetterLink({ letter }: { letter: DeadLetter }) {
  return (
    <Link to="/dead-letters/$letterId" params={{ letterId: letter.id }} className="row grow">
      <span className="grow">
        <strong>{letter.event ?? 'no type'}</strong> {letter.subject && <span>{letter.subject}</span>}
        <span className="soft">
          {textOf(letter.reason)}
          {letter.detail && `: ${letter.detail}`}
        </span>
      </span>
      <span className="soft">{letter.bytes.toLocaleString()} bytes</span>
      <span className="soft when">{isTime(letter.occurred_at) && <Time at={letter.occurred_at} />}</span>
    </Link>
  );
}

/** A longer list would make an address that servers refuse. */
const dropAtOnce = 200;

/** Republishes or deletes the selected letters. */
function Decide({ ids, onDone }: { ids: string[]; onDone: () => void }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const many = ids.length === 1 ? 'One dead letter' : `${ids.length} dead letters`;
  const done = () => {
    onDone();
    return queries.invalidateQueries({ queryKey: letterKey });
  };
  const publish = useMutation({
    mutationFn: () => api.send<{ published: number; left: number }>('POST', '/admin/dead-letters/attempts', { ids }),
    onSuccess: done,
  });
  const drop = useMutation({
    mutationFn: async () => {
      for (let start = 0; start < ids.length; start += dropAtOnce)
        await api.send('DELETE', `/admin/dead-letters?ids=${ids.slice(start, start + dropAtOnce).join(',')}`);
    },
    onSuccess: done,
  });
  return (
    <div className="actions">
      <Confirm
        label="Publish again"
        kind="primary"
        title={`Publish ${many.toLowerCase()} again?`}
        action="Publish again"
        onConfirm={() => publish.mutate()}
        isDisabled={ids.length === 0 || publish.isPending}
      >
        <p>
          This installation publishes each message unchanged. If a message itself is invalid, it will be refused again.
          If it was refused because of its producer, it is now published in the installation’s own name.
        </p>
      </Confirm>
      <Confirm
        label="Delete"
        title={`Delete ${many.toLowerCase()}?`}
        action="Delete"
        onConfirm={() => drop.mutate()}
        isDisabled={ids.length === 0 || drop.isPending}
      >
        <p>Deleted messages are never delivered. This cannot be undone.</p>
      </Confirm>
      <span role="status" className="soft">
        {publish.isPending || drop.isPending ? 'Working …' : publish.data && saidOf(publish.data)}
      </span>
      {(publish.error ?? drop.error) && <Problem error={publish.error ?? drop.error} />}
    </div>
  );
}

const saidOf = ({ published, left }: { published: number; left: number }) =>
  `${published} published again${left > 0 ? `; ${left} are neither events nor deliveries and were kept` : ''}.`;
