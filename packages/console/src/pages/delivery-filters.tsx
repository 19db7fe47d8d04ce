/** Which of a hook's deliveries are shown. Kept in the address, so that "back" and colleagues see the same. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { Place } from '../api/place.ts';
import type { EventType } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { SearchField, Select, TextField } from '../ui/fields.tsx';
import { toLocal, toUtc, utcOf } from '../ui/local-time.ts';
import { type Filter, isGuid, validateSearch } from './hook-search.ts';
import { LinkToHook } from './links.tsx';

const outcomes = { All: undefined, Delivered: 'success', Failed: 'failure' } as const;

export function DeliveryFilters({ place, hookId, filter }: { place: Place; hookId: string; filter: Filter }) {
  const { api } = useConsole();
  const navigate = useNavigate();
  const { status: _, ...narrow } = filter;
  const isNarrow = Object.keys(narrow).length > 0;
  const [isOpen, setOpen] = useState(isNarrow);
  const { data: types } = useQuery({
    queryKey: ['event types'],
    queryFn: ({ signal }) => api.get<EventType[]>('/event-types', signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isOpen,
  });
  const change = (part: Partial<Record<keyof Filter, unknown>>) =>
    void navigate({ to: '.', search: validateSearch({ ...filter, ...part }), replace: true, resetScroll: false });
  const changeGuid = (guid: string) => change({ guid });
  const isWrong = filter.guid !== undefined && !isGuid(filter.guid);
  return (
    <>
      <nav className="filters" aria-label="Outcome">
        {Object.entries(outcomes).map(([text, value]) => (
          <LinkToHook key={text} place={place} hookId={hookId} search={validateSearch({ ...filter, status: value })}>
            {text}
          </LinkToHook>
        ))}
        <Button aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
          More filters
        </Button>
        {isNarrow && (
          <LinkToHook place={place} hookId={hookId}>
            Clear
          </LinkToHook>
        )}
      </nav>
      {isOpen && (
        <fieldset className="panel pair narrow" aria-label="Filters">
          <SearchField
            label="Event"
            value={filter.event ?? ''}
            onChange={(event) => change({ event })}
            placeholder="issues"
            suggestions={types?.map(({ name }) => name)}
          />
          <SearchField
            label="Action"
            value={filter.action ?? ''}
            onChange={(action) => change({ action })}
            placeholder="opened"
          />
          <SearchField
            label="GUID"
            value={filter.guid ?? ''}
            onChange={changeGuid}
            problem={isWrong ? 'A GUID looks like 7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70.' : undefined}
          />
          <Moment label="Since" at={filter.since} onChange={(since) => change({ since })} />
          <Moment label="Until" at={filter.until} onChange={(until) => change({ until })} />
          <Select
            label="Throttled"
            value={filter.throttled === undefined ? '' : filter.throttled ? 'yes' : 'no'}
            onChange={(text) => change({ throttled: text === '' ? undefined : text === 'yes' })}
            options={[
              ['', 'All'],
              ['yes', 'Throttled'],
              ['no', 'Not throttled'],
            ]}
          />
          {filter.guid !== undefined && isGuid(filter.guid) && (
            <LinkToHook
              place={place}
              hookId={hookId}
              search={{ tab: 'find', guid: filter.guid }}
              className="button small"
            >
              What happened to this event?
            </LinkToHook>
          )}
        </fieldset>
      )}
    </>
  );
}

function Moment({
  label,
  at,
  onChange,
}: {
  label: string;
  at: string | undefined;
  onChange: (at: string | undefined) => void;
}) {
  const local = at === undefined ? '' : toLocal(new Date(at));
  return (
    <TextField
      label={`${label} (your time zone)`}
      type="datetime-local"
      value={local}
      onChange={(text) => onChange(toUtc(text))}
      hint={utcOf(local)}
    />
  );
}
