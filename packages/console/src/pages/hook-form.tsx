/** The fields of a hook, for creating and for changing one. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { ApiProblem } from '../api/client.ts';
import type { EventType } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Checkbox, Choice, TextField } from '../ui/fields.tsx';
import { Refusals, useRefusal } from '../ui/refusals.tsx';
import { isInTheWay, Loading, Problem } from '../ui/states.tsx';
import { noteChanged } from '../ui/unsaved-input.ts';

export type HookForm = {
  url: string;
  contentType: 'json' | 'form';
  /** Names, or `*`. */
  events: string[];
  /** The mask shown by the API keeps the existing secret. */
  secret: string;
  insecureSsl: '0' | '1';
  active: boolean;
  retry: 'on' | 'off';
  headers: { name: string; value: string }[];
};

/** 32 random bytes in the form of Standard Webhooks, which both kinds of receivers accept. */
export function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

/** Complete, since the API sets whatever a `config` leaves out to its default. */
export function toHookBody({ url, contentType, insecureSsl, events, secret, active, retry, headers }: HookForm) {
  return {
    active,
    events,
    retry,
    config: { url, content_type: contentType, insecure_ssl: insecureSsl, secret },
    request_headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
  };
}

export function HookFormFields({
  form,
  onChange,
  error,
  submit,
  isPending,
  onSubmit,
  secretHint,
  headersHint,
}: {
  form: HookForm;
  onChange: (form: HookForm) => void;
  error: Error | null;
  submit: string;
  isPending: boolean;
  onSubmit: () => void;
  /** For a new hook; an existing one changes its secret, and whether it is active, elsewhere. */
  secretHint?: ReactNode;
  headersHint?: string;
}) {
  const change = (part: Partial<HookForm>) => onChange({ ...form, ...part });
  const [unready, setUnready] = useState<ApiProblem | null>(null);
  const [wasWithoutEvents] = useState(form.events.length === 0);
  const documentation = error instanceof ApiProblem ? error.documentation : undefined;
  const localReceivers = documentation?.endsWith('/local-receivers') && documentation;
  return (
    <Form
      className="panel form"
      onSubmit={(event) => {
        event.preventDefault();
        // The API allows a hook without events, as GitHub's does: one that has none can be changed otherwise.
        const problem = hasTwice(form.headers)
          ? refusalOf('request_headers', 'Two headers have the same name.')
          : form.events.length === 0 && !wasWithoutEvents
            ? refusalOf('events', 'Choose at least one event.')
            : null;
        setUnready(problem);
        if (!problem) onSubmit();
      }}
    >
      <Refusals error={unready ?? error}>
        <TextField
          label="Payload URL"
          name="url"
          type="url"
          isRequired
          value={form.url}
          onChange={(url) => change({ url })}
          placeholder="https://ci.example/hook"
          hint={
            localReceivers && (
              <>
                A hook never leads to the machine that the post runs on:{' '}
                <a href={localReceivers} target="_blank" rel="noreferrer">
                  how to receive on a machine of your own
                </a>
              </>
            )
          }
        />
        <Choice
          label="Content type"
          value={form.contentType}
          onChange={(contentType) => change({ contentType })}
          options={{ json: 'application/json', form: 'application/x-www-form-urlencoded' }}
        />
        <Choice
          label="SSL verification"
          value={form.insecureSsl}
          onChange={(insecureSsl) => change({ insecureSsl })}
          options={{ '0': 'Enable SSL verification', '1': 'Disable (not recommended)' }}
        />
        {secretHint && (
          <>
            <TextField
              label="Secret"
              name="secret"
              value={form.secret}
              onChange={(secret) => change({ secret })}
              hint={secretHint}
            />
            <Button
              className="button small"
              onPress={({ target }) => {
                noteChanged(target);
                change({ secret: newSecret() });
              }}
            >
              Generate a new secret
            </Button>
          </>
        )}
        <Events
          chosen={form.events}
          onChange={(events) => {
            setUnready(null);
            change({ events });
          }}
        />
        <Headers
          headers={form.headers}
          onChange={(headers) => {
            setUnready(null);
            change({ headers });
          }}
          hint={headersHint}
        />
        <Checkbox isSelected={form.retry === 'on'} onChange={(is) => change({ retry: is ? 'on' : 'off' })}>
          Retry failed deliveries
        </Checkbox>
        {secretHint && (
          <Checkbox isSelected={form.active} onChange={(active) => change({ active })}>
            Active
          </Checkbox>
        )}
      </Refusals>
      <div className="actions">
        <Button className="button primary" type="submit" isDisabled={isPending}>
          {submit}
        </Button>
      </div>
    </Form>
  );
}

/** The body has each name once, so the API would not hear of the other one. */
const hasTwice = (headers: HookForm['headers']) => new Set(headers.map(({ name }) => name)).size < headers.length;

const refusalOf = (field: string, message: string) => new ApiProblem(422, message, undefined, [{ field, message }]);

const groups = { github: 'GitHub', gate: 'The gate', own: 'This installation' };

function Events({ chosen, onChange }: { chosen: string[]; onChange: (events: string[]) => void }) {
  const { api } = useConsole();
  const [search, setSearch] = useState('');
  const problemId = useId();
  const problem = useRefusal('events');
  const { data, error, refetch } = useQuery({
    queryKey: ['event types'],
    queryFn: ({ signal }) => api.get<EventType[]>('/event-types', signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isAll = chosen.includes('*');
  const toggle = (name: string, is: boolean) =>
    onChange(is ? [...chosen, name] : chosen.filter((other) => other !== name));
  const wanted = search.toLowerCase();
  const found = data?.filter((type) => `${type.name} ${type.description}`.toLowerCase().includes(wanted)) ?? [];
  return (
    <fieldset className="field">
      <legend>Events</legend>
      <Checkbox
        isSelected={isAll}
        onChange={(is) => onChange(is ? ['*'] : ['push'])}
        isInvalid={problem !== undefined}
        aria-describedby={problem && problemId}
      >
        All events, including future ones
      </Checkbox>
      {problem && (
        <span className="wrong" id={problemId}>
          {problem}
        </span>
      )}
      {!isAll && (
        <>
          <TextField label="Find an event" type="search" value={search} onChange={setSearch} />
          <p className="hint" aria-live="polite">
            {chosen.length === 0 ? 'None selected' : `${chosen.length} selected: ${chosen.join(', ')}`}
          </p>
          {isInTheWay(error, data) ? (
            <Problem error={error} onRetry={refetch} />
          ) : !data ? (
            <Loading what="events" />
          ) : (
            <div className="catalogue">
              {[...new Set(found.map(({ group }) => group))].map((group) => (
                <fieldset key={group}>
                  <legend>{groups[group]}</legend>
                  {found
                    .filter((type) => type.group === group)
                    .map(({ name, description }) => (
                      <Checkbox key={name} isSelected={chosen.includes(name)} onChange={(is) => toggle(name, is)}>
                        <code>{name}</code> <span className="soft">{description}</span>
                      </Checkbox>
                    ))}
                </fieldset>
              ))}
            </div>
          )}
        </>
      )}
    </fieldset>
  );
}

function Headers({
  headers,
  onChange,
  hint,
}: {
  headers: HookForm['headers'];
  onChange: (headers: HookForm['headers']) => void;
  hint: string | undefined;
}) {
  const set = (index: number, part: Partial<HookForm['headers'][number]>) =>
    onChange(headers.map((header, at) => (at === index ? { ...header, ...part } : header)));
  return (
    <fieldset className="field">
      <legend>Custom request headers</legend>
      {hint && headers.length > 0 && <p className="hint">{hint}</p>}
      {headers.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name, and go only by the button
        <div className="pair" key={index}>
          <TextField label="Name" value={name} onChange={(name) => set(index, { name })} />
          <TextField label="Value" value={value} onChange={(value) => set(index, { value })} />
          <Button
            className="button small"
            onPress={({ target }) => {
              noteChanged(target);
              onChange(headers.filter((_, at) => at !== index));
            }}
          >
            Remove
          </Button>
        </div>
      ))}
      <Button className="button small" onPress={() => onChange([...headers, { name: '', value: '' }])}>
        Add a header
      </Button>
    </fieldset>
  );
}
