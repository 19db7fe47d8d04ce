/** What happened to one event at this hook, by its guid, even if it never made a delivery. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Place } from '../api/place.ts';
import { TextField } from '../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { Explained, useExplanation } from './explanation.tsx';
import { isGuid } from './hook-search.ts';

export function FindEvent({
  place,
  hookId,
  path,
  guid,
}: {
  place: Place;
  hookId: string;
  path: string;
  guid: string | undefined;
}) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(guid ?? '');
  const [problem, setProblem] = useState<string>();
  const wanted = guid !== undefined && isGuid(guid) ? guid : null;
  const { data, error, refetch, isFetching } = useExplanation(
    wanted && `${path}/explain?guid=${encodeURIComponent(wanted)}`,
  );
  const find = () => {
    const given = typed.trim();
    if (!isGuid(given)) return setProblem('A GUID looks like 7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70.');
    setProblem(undefined);
    if (given === wanted) void refetch();
    else void navigate({ to: '.', search: { tab: 'find', guid: given } });
  };
  return (
    <>
      <Form
        role="search"
        className="panel form"
        onSubmit={(event) => {
          event.preventDefault();
          find();
        }}
      >
        <h2>Find an event</h2>
        <TextField
          label="GUID"
          value={typed}
          onChange={setTyped}
          problem={problem}
          hint={
            <>
              The receiver gets it in <code>X-GitHub-Delivery</code>. If the producer’s event ID is a UUID, it is the
              same.
            </>
          }
        />
        <Button className="button primary" type="submit" isDisabled={isFetching}>
          Find
        </Button>
      </Form>
      {isInTheWay(error, data) ? (
        <Problem error={error} onRetry={refetch} />
      ) : data ? (
        <>
          <p>
            {data.event && (
              <>
                <strong>{[data.event, data.action].filter(Boolean).join('.')}</strong>{' '}
              </>
            )}
            <code>{data.guid}</code>
            {data.place && ` of ${data.place}`}
          </p>
          <Explained place={place} hookId={hookId} explanation={data} />
        </>
      ) : (
        wanted && <Loading what="the event" />
      )}
    </>
  );
}
