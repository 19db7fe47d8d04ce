/** Connections: where accounts come from, and which applications they may sign in to. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Connection } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { changesOf } from '../changes.ts';
import { useApplications } from './applications.tsx';
import { Area, Catalogue, CheckboxList, NumberField } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { SettingsForm, useSettings } from './settings-form.tsx';
import { strategies } from './strategies.ts';

const connectionsKey = ['gate', 'connections'];
export const Connections = gatePage('Connections', 'read:connections', () => {
  const { api, may } = useGate();
  const [isMaking, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: connectionsKey,
    queryFn: ({ signal }) => api.all<Connection>('/connections', signal),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="connections" />;
  return (
    <>
      <div className="title">
        <h1>Connections</h1>
        <span className="grow" />
        {may('create:connections') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New connection'}
          </Button>
        )}
      </div>
      {isMaking && <NewConnection known={data} onMade={() => setMaking(false)} />}
      {data.length === 0 && (
        <Empty title="There are no connections yet">
          <p>Without a connection, nobody can sign in.</p>
        </Empty>
      )}
      {data.map((connection) => (
        <One key={connection.id} connection={connection} />
      ))}
    </>
  );
});

function One({ connection }: { connection: Connection }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [open, setOpen] = useState<'clients' | 'settings'>();
  const options = strategies[connection.strategy]?.options;
  const isDatabase = connection.strategy === 'auth0';
  const refresh = () => queries.invalidateQueries({ queryKey: connectionsKey });
  const remove = useMutation({
    mutationFn: () => api.send('DELETE', `/connections/${encodeURIComponent(connection.id)}`),
    onSuccess: refresh,
  });
  return (
    <section className="panel" aria-label={connection.name}>
      <div className="title">
        <div className="grow">
          <h2>{connection.name}</h2>
          <span className="soft">{strategies[connection.strategy]?.text ?? connection.strategy}</span>
        </div>
        {may('update:connections') && may('read:clients') && (
          <Toggle
            text="Applications"
            isOpen={open === 'clients'}
            onChange={(is) => setOpen(is ? 'clients' : undefined)}
          />
        )}
        {(options || isDatabase) && may('update:connections') && (
          <Toggle
            text="Settings"
            isOpen={open === 'settings'}
            onChange={(is) => setOpen(is ? 'settings' : undefined)}
          />
        )}
        {may('delete:connections') && (
          <Confirm
            label="Delete"
            title={`Delete ${connection.name}?`}
            action="Delete the connection and its users"
            onConfirm={() => remove.mutate()}
          >
            <p>
              <strong>All users of this connection are deleted with it</strong>, including their sessions, tokens and
              grants. This cannot be undone.
            </p>
          </Confirm>
        )}
      </div>
      {open === 'clients' && <Enabled connection={connection} />}
      {open === 'settings' &&
        (isDatabase ? <Database connection={connection} /> : <Provider connection={connection} />)}
      {remove.error && <Problem error={remove.error} />}
    </section>
  );
}

function Toggle({ text, isOpen, onChange }: { text: string; isOpen: boolean; onChange: (is: boolean) => void }) {
  return (
    <Button className="button small" aria-expanded={isOpen} onPress={() => onChange(!isOpen)}>
      {isOpen ? `Close ${text.toLowerCase()}` : text}
    </Button>
  );
}

/** Of the options of accounts with passwords, the gate uses only these; the others stay as they are. */
function Database({ connection }: { connection: Connection }) {
  const { api } = useGate();
  const queries = useQueryClient();
  const send = async (saved: Connection, wanted: DatabaseForm) => {
    const path = `/connections/${encodeURIComponent(connection.id)}`;
    // The API replaces all options at once.
    const { options = {} } = await api.get<Connection>(path);
    const { passkeys, ...lengths } = changesOf(databaseFormOf(saved), wanted);
    const { validation, authentication_methods: methods } = options;
    const numbers = Object.entries(lengths).map(([name, text]) => [name, text ? Number(text) : null]);
    return api.send<Connection>('PATCH', path, {
      options: {
        ...options,
        validation: { ...validation, username: { ...validation?.username, ...Object.fromEntries(numbers) } },
        ...(passkeys !== undefined && {
          authentication_methods: { ...methods, passkey: { ...methods?.passkey, enabled: passkeys } },
        }),
      },
    });
  };
  const { form, save, change } = useSettings(connection, databaseFormOf, send, () =>
    queries.invalidateQueries({ queryKey: connectionsKey }),
  );
  return (
    <SettingsForm className="form" label={`Settings of ${connection.name}`} save={save} onSave={() => save.mutate()}>
      <div className="pair">
        <NumberField
          label="Username: minimum length"
          hint="Leave empty for 1."
          value={form.min}
          onChange={(min) => change({ min })}
        />
        <NumberField
          label="Username: maximum length"
          hint="At most 128. Leave empty for 15."
          value={form.max}
          onChange={(max) => change({ max })}
        />
      </div>
      <Checkbox isSelected={form.passkeys} onChange={(passkeys) => change({ passkeys })}>
        Passkeys: users are offered one after signing in with a password, and can then sign in without it
      </Checkbox>
      <p className="hint">
        Whether users may sign up themselves is one of the <Link to="/gate/settings">tenant settings</Link>.
      </p>
    </SettingsForm>
  );
}

type DatabaseForm = ReturnType<typeof databaseFormOf>;
function databaseFormOf({ options }: Connection) {
  const { min, max } = options?.validation?.username ?? {};
  return {
    min: String(min ?? ''),
    max: String(max ?? ''),
    passkeys: options?.authentication_methods?.passkey?.enabled === true,
  };
}

/** The gate's settings for a provider that people sign in at. Options not shown stay as they are. */
function Provider({ connection }: { connection: Connection }) {
  const { api } = useGate();
  const queries = useQueryClient();
  const send = async (saved: Connection, wanted: Values) => {
    const path = `/connections/${encodeURIComponent(connection.id)}`;
    const { options, ...changes } = changesOf(bodyOf(formOf(saved)), bodyOf(wanted));
    if (!options) return api.send<Connection>('PATCH', path, changes);
    // The API replaces all options at once.
    const now = await api.get<Connection>(path);
    return api.send<Connection>('PATCH', path, { ...changes, options: { ...now.options, ...options } });
  };
  const { form, save, change } = useSettings(connection, formOf, send, () =>
    queries.invalidateQueries({ queryKey: connectionsKey }),
  );
  return (
    <SettingsForm className="form" label={`Settings of ${connection.name}`} save={save} onSave={() => save.mutate()}>
      <OptionFields strategy={connection.strategy} options={form.options} onChange={(options) => change({ options })} />
      <TextField label="Button label" name="display_name" value={form.label} onChange={(label) => change({ label })} />
      <Checkbox isSelected={form.isButton} onChange={(isButton) => change({ isButton })}>
        Show as a button on the sign-in page
      </Checkbox>
    </SettingsForm>
  );
}

type Values = ReturnType<typeof formOf>;
const formOf = (connection: Connection) => ({
  strategy: connection.strategy,
  options: textsOf(connection),
  label: connection.display_name ?? '',
  isButton: connection.show_as_button !== false,
});

const bodyOf = ({ strategy, options, label, isButton }: Values) => ({
  options: given(strategy, options),
  display_name: label === '' ? null : label,
  show_as_button: isButton,
});

type Texts = Record<string, string>;

function OptionFields({
  strategy,
  options,
  onChange,
}: {
  strategy: string;
  options: Texts;
  onChange: (options: Texts) => void;
}) {
  const { api } = useGate();
  const callback = `${api.issuer}login/callback`;
  return (
    <>
      <p className="note">
        Register the gate with the provider, using the callback URL <code className="url">{callback}</code>{' '}
        <Copy text={callback} />
      </p>
      {strategies[strategy]?.options?.map(({ name, label, placeholder, hint, isOptional, isLong }) =>
        isLong ? (
          <Area
            key={name}
            label={label}
            name={`options.${name}`}
            value={options[name] ?? ''}
            onChange={(value) => onChange({ ...options, [name]: value })}
          />
        ) : (
          <TextField
            key={name}
            label={label}
            name={`options.${name}`}
            isRequired={!isOptional}
            value={options[name] ?? ''}
            onChange={(value) => onChange({ ...options, [name]: value })}
            {...(placeholder !== undefined && { placeholder })}
            hint={hint}
          />
        ),
      )}
    </>
  );
}

function textsOf({ strategy, options = {} }: Connection): Texts {
  const known = strategies[strategy]?.options ?? [];
  const textOf = (value: unknown) => (Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '');
  return Object.fromEntries(known.map(({ name }) => [name, textOf(options[name])]));
}

/** Empty fields are not set. */
function given(strategy: string, texts: Texts): Record<string, string | null> {
  const known = strategies[strategy]?.options ?? [];
  return Object.fromEntries(known.map(({ name }) => [name, texts[name]?.trim() || null]));
}

/** One request holds at most fifty changes. */
function Enabled({ connection }: { connection: Connection }) {
  const { api } = useGate();
  const path = `/connections/${encodeURIComponent(connection.id)}/clients`;
  const applications = useApplications();
  const [search, setSearch] = useState('');
  const enabled = useQuery({
    queryKey: [...connectionsKey, connection.id, 'clients'],
    queryFn: async ({ signal }) => {
      const ids: string[] = [];
      let next: string | undefined;
      do {
        const from: string = next === undefined ? '' : `&from=${encodeURIComponent(next)}`;
        const page = await api.get<{ clients: { client_id: string }[]; next?: string }>(
          `${path}?take=100${from}`,
          signal,
        );
        ids.push(...page.clients.map(({ client_id }) => client_id));
        next = page.next;
      } while (next !== undefined);
      return ids;
    },
  });
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (entry: { client_id: string; status: boolean }) => api.send('PATCH', path, [entry]),
    onSuccess: () => queries.invalidateQueries({ queryKey: connectionsKey }),
  });
  const error = applications.error ?? enabled.error;
  if (isInTheWay(error, applications.data && enabled.data))
    return <Problem error={error} onRetry={() => Promise.all([applications.refetch(), enabled.refetch()])} />;
  if (!applications.data || !enabled.data) return <Loading what="applications" />;
  const chosen = enabled.data;
  return (
    <div className="form">
      {applications.data.length > 12 && <TextField label="Find an application" value={search} onChange={setSearch} />}
      <Catalogue label="Applications that may use it">
        <CheckboxList
          legend="Users of this connection can sign in to"
          isDisabled={change.isPending}
          all={applications.data
            .filter(({ app_type: type }) => type !== 'non_interactive')
            .filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
            .sort((a, b) => a.name.localeCompare(b.name))
            .map(({ client_id: value, name: text }) => ({ value, text }))}
          chosen={chosen}
          onChange={(wanted) => {
            const [added] = wanted.filter((id) => !chosen.includes(id));
            const [removed] = chosen.filter((id) => !wanted.includes(id));
            const client_id = added ?? removed;
            if (client_id !== undefined) change.mutate({ client_id, status: added !== undefined });
          }}
        />
      </Catalogue>
      {change.error && <Problem error={change.error} />}
    </div>
  );
}

/** There is exactly one connection of each, with that name. */
const isCodes = (strategy: string) => strategy === 'email' || strategy === 'sms';

function NewConnection({ known, onMade }: { known: Connection[]; onMade: () => void }) {
  const { api } = useGate();
  const queries = useQueryClient();
  const taken = (strategy: string) => known.some(({ name }) => name === strategy);
  const left = Object.entries(strategies).filter(([key]) => !(isCodes(key) && taken(key)));
  const [strategy, setStrategy] = useState('oidc');
  const [name, setName] = useState('');
  const [options, setOptions] = useState<Texts>({});
  const isUpstream = strategies[strategy]?.options !== undefined;
  const create = useMutation({
    mutationFn: () =>
      api.send('POST', '/connections', {
        strategy,
        name: isCodes(strategy) ? strategy : name,
        ...(isUpstream && { options: given(strategy, options) }),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: connectionsKey });
      onMade();
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New connection"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New connection</h2>
      <Refusals error={create.error}>
        <Select
          label="How users sign in"
          value={strategy}
          onChange={setStrategy}
          options={left.map(([key, { text }]) => [key, text] as const)}
        />
        {!isCodes(strategy) && (
          <TextField
            label="Name"
            name="name"
            isRequired
            value={name}
            onChange={setName}
            hint="Letters, digits and dashes."
          />
        )}
        {isUpstream && <OptionFields strategy={strategy} options={options} onChange={setOptions} />}
      </Refusals>
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
