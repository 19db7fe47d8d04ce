/** The settings of a connection whose users sign in at a provider. */
import { useQueryClient } from '@tanstack/react-query';
import type { Connection } from '../../api/management-types.ts';
import { Checkbox, TextField } from '../../ui/fields.tsx';
import { changesOf } from '../changes.ts';
import { useGate } from './gate-page.tsx';
import { optionsOf, ProviderOptions, textsOf } from './provider-options.tsx';
import { connectionsKey } from './query-keys.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

/** Options not shown stay as they are. */
export function ProviderSettings({ connection }: { connection: Connection }) {
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
      <ProviderOptions
        strategy={connection.strategy}
        options={form.options}
        onChange={(options) => change({ options })}
      />
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
  options: optionsOf(strategy, options),
  display_name: label === '' ? null : label,
  show_as_button: isButton,
});
