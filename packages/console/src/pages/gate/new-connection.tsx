/** The form for a new connection. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Connection } from '../../api/management-types.ts';
import { Select, TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { useGate } from './gate-page.tsx';
import { optionsOf, ProviderOptions, type Texts } from './provider-options.tsx';
import { connectionsKey } from './query-keys.ts';
import { strategies } from './strategies.ts';

/** There is exactly one connection of each, with that name. */
const isCodes = (strategy: string) => strategy === 'email' || strategy === 'sms';

export function NewConnection({ known, onMade }: { known: Connection[]; onMade: () => void }) {
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
        ...(isUpstream && { options: optionsOf(strategy, options) }),
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
        {isUpstream && <ProviderOptions strategy={strategy} options={options} onChange={setOptions} />}
      </Refusals>
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
