/** Which scopes of an API somebody has: one by one, or all that a search finds. */
import { useState } from 'react';
import { Button, Form, type PressEvent } from 'react-aria-components';
import type { ResourceServer } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { noteChanged } from '../../ui/unsaved-input.ts';
import { Catalogue, CheckboxList } from './fields.tsx';

export function ScopeForm({
  what,
  offered,
  chosen,
  onChange,
  onSave,
  isPending,
  submit,
}: {
  what: 'scope' | 'permission';
  offered: ResourceServer['scopes'];
  chosen: string[];
  onChange: (chosen: string[]) => void;
  onSave: () => void;
  isPending: boolean;
  /** The text of the button. */
  submit: string;
}) {
  const [search, setSearch] = useState('');
  const wanted = search.toLowerCase();
  const found = offered.filter(({ value, description = '' }) =>
    `${value} ${description}`.toLowerCase().includes(wanted),
  );
  const others = chosen.filter((value) => !found.some((scope) => scope.value === value));
  const set = (values: string[]) => (press: PressEvent) => {
    noteChanged(press.target);
    onChange(values);
  };
  return (
    <div className="form">
      {/* Outside of the form, which "Enter" would send. */}
      {offered.length > 12 && <TextField label={`Find a ${what}`} value={search} onChange={setSearch} />}
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          onSave();
        }}
      >
        <div className="actions">
          <Button className="button small" onPress={set([...others, ...found.map(({ value }) => value)])}>
            All
          </Button>
          <Button className="button small" onPress={set(others)}>
            None
          </Button>
        </div>
        <Catalogue label={`All ${what}s`}>
          <CheckboxList
            legend={what === 'scope' ? 'Scopes' : 'Permissions'}
            all={found.map(({ value, description }) => ({
              value,
              text: (
                <>
                  <code>{value}</code> <span className="soft">{description}</span>
                </>
              ),
            }))}
            chosen={chosen}
            onChange={onChange}
          />
        </Catalogue>
        <Button className="button primary" type="submit" isDisabled={isPending}>
          {submit}
        </Button>
      </Form>
    </div>
  );
}
