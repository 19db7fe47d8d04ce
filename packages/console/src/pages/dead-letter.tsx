/** One dead letter: the reason, and all its content. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { ApiProblem } from '../api/client.ts';
import type { WholeDeadLetter } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Fact } from '../ui/fact.tsx';
import { Message } from '../ui/message.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { useTitle } from '../ui/title.ts';
import { NotYours } from './dead-letters.tsx';
import { isTime, letterKey, reasons, textOf } from './dead-reasons.ts';
import { Path } from './shell.tsx';

export function DeadLetterPage({ letterId }: { letterId: string }) {
  return useConsole().isSiteAdmin ? <Letter letterId={letterId} /> : <NotYours />;
}

function Letter({ letterId }: { letterId: string }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const navigate = useNavigate();
  useTitle('Dead letter');
  const path = `/admin/dead-letters/${encodeURIComponent(letterId)}`;
  const { data, error, refetch } = useQuery({
    queryKey: ['dead letter', letterId],
    queryFn: ({ signal }) => api.get<WholeDeadLetter>(path, signal),
    staleTime: Number.POSITIVE_INFINITY, // its id is a digest of its content
  });
  const decide = useMutation({
    mutationFn: (deed: 'publish' | 'delete') =>
      deed === 'publish' ? api.send('POST', `${path}/attempts`) : api.send('DELETE', path),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: letterKey });
      await navigate({ to: '/dead-letters' });
    },
  });
  const way = (
    <Path>
      <Link to="/dead-letters">Dead letters</Link>
    </Path>
  );
  if (error instanceof ApiProblem && error.status === 404)
    return (
      <>
        {way}
        <Empty title="This dead letter no longer exists" isPage>
          <p>It was published again or deleted. If it was refused again, it is back in the list.</p>
        </Empty>
      </>
    );
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the dead letter" />;
  return (
    <>
      {way}
      <div className="title">
        <h1>{data.event ?? 'Dead letter without a type'}</h1>
        <span className="tag bad">{textOf(data.reason)}</span>
        <span className="grow" />
        <Confirm
          label="Publish again"
          kind="primary"
          title="Publish this dead letter again?"
          action="Publish again"
          onConfirm={() => decide.mutate('publish')}
          isDisabled={decide.isPending}
        >
          <p>
            This installation publishes the message unchanged. If the message itself is invalid, it will be refused
            again. If it was refused because of its producer, it is now published in the installation’s own name.
          </p>
        </Confirm>
        <Confirm
          label="Delete"
          title="Delete this dead letter?"
          action="Delete"
          onConfirm={() => decide.mutate('delete')}
          isDisabled={decide.isPending}
        >
          <p>The message was not delivered, and never will be. This cannot be undone.</p>
        </Confirm>
      </div>
      {decide.error && <Problem error={decide.error} />}
      <section className="panel" aria-label="Summary">
        <dl className="facts">
          <Fact name="Reason">
            {textOf(data.reason)} <code>{data.reason}</code>
          </Fact>
          {data.detail && <Fact name="Detail">{data.detail}</Fact>}
          <Fact name="What to do">
            {reasons[data.reason ?? '']?.next ?? 'Look at its headers and payload to see who published it.'}
          </Fact>
          {data.subject && <Fact name="Subject">{data.subject}</Fact>}
          {data.source && <Fact name="Source">{data.source}</Fact>}
          {data.message_id && (
            <Fact name="Message ID">
              <code>{data.message_id}</code>
            </Fact>
          )}
          {data.occurred_at && (
            <Fact name="Occurred">
              {isTime(data.occurred_at) ? <Time at={data.occurred_at} exact /> : data.occurred_at}
            </Fact>
          )}
          <Fact name="Size">{data.bytes.toLocaleString()} bytes</Fact>
        </dl>
      </section>
      <Message
        title={data.payload_encoding === 'base64' ? 'Message (base64)' : 'Message'}
        headers={Object.fromEntries(
          Object.entries(data.headers).map(([name, value]) => [
            name,
            typeof value === 'string' ? value : JSON.stringify(value),
          ]),
        )}
        body={data.payload}
      />
    </>
  );
}
