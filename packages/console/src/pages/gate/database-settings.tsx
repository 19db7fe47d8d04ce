/** The settings of a connection whose accounts have their passwords at the gate. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Connection } from '../../api/management-types.ts';
import { Checkbox } from '../../ui/fields.tsx';
import { changesOf } from '../changes.ts';
import { NumberField } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { connectionsKey } from './query-keys.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

/** The gate uses only these options; the others stay as they are. */
export function DatabaseSettings({ connection }: { connection: Connection }) {
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
