/** Sets a new secret for a hook, with a period during which the previous one signs too. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Hook } from '../api/types.ts';
import { useConsole } from '../session/context.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Copy } from '../ui/copy.tsx';
import { Choice, TextField } from '../ui/fields.tsx';
import { Problem } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { noteChanged, submitting } from '../ui/unsaved-input.ts';
import { newSecret } from './hook-form.tsx';

const overlaps = { '0': 'Not at all', '1': 'For an hour', '24': 'For a day', '168': 'For a week' };
const hourMs = 3_600_000;

export function HookSecret({ path, hook }: { path: string; hook: Hook }) {
  const { api } = useConsole();
  const queries = useQueryClient();
  const [secret, setSecret] = useState('');
  const [overlap, setOverlap] = useState<keyof typeof overlaps>('24');
  const hasOne = hook.config.secret !== undefined;
  const until = hook.previous_secret_until;
  const isOverlapping = until !== null && new Date(until) > new Date();
  const change = useMutation({
    mutationFn: (config: { secret?: string; previous_secret_until?: string }) =>
      api.send('PATCH', `${path}/config`, config),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['hook', path] }),
  });
  const rotate = () => {
    const hours = Number(overlap);
    change.mutate({
      secret,
      ...(hasOne && hours > 0 && { previous_secret_until: new Date(Date.now() + hours * hourMs).toISOString() }),
    });
  };
  return (
    <section className="panel" aria-label="Secret">
      <h2>{hasOne ? 'Change the secret' : 'Set a secret'}</h2>
      {isOverlapping && (
        <p className="note">
          The previous secret, if it begins with <code>whsec_</code>, also signs <code>webhook-signature</code> until{' '}
          <Time at={until} exact /> (
          <Time at={until} />
          ).{' '}
          <Confirm
            label="End it now"
            title="End the previous secret now?"
            action="End it"
            onConfirm={() => change.mutate({ previous_secret_until: new Date().toISOString() })}
          >
            <p>Receivers that know only the previous secret will refuse new deliveries.</p>
          </Confirm>
        </p>
      )}
      <Form className="form" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label="New secret"
          value={secret}
          onChange={setSecret}
          hint={
            <>
              Copy it to your receiver before you save. It is not shown again. {secret !== '' && <Copy text={secret} />}
            </>
          }
        />
        <Button
          className="button small"
          onPress={({ target }) => {
            noteChanged(target);
            setSecret(newSecret());
          }}
        >
          Generate a secret
        </Button>
        {hasOne && (
          <>
            <Choice
              label="Keep signing with the previous secret"
              value={overlap}
              onChange={setOverlap}
              options={overlaps}
            />
            <p className="hint">
              It also signs <code>webhook-signature</code>, which is a list, if it begins with <code>whsec_</code>.
              GitHub’s headers hold one signature, which uses the new secret at once.
            </p>
          </>
        )}
        {change.error && <Problem error={change.error} />}
        <p role="status" className="good-text">
          {change.isSuccess && 'Saved.'}
        </p>
        <Confirm
          label={hasOne ? 'Change secret' : 'Set secret'}
          title={hasOne ? 'Change the secret of this hook?' : 'Sign the deliveries of this hook?'}
          action={hasOne ? 'Change the secret' : 'Set the secret'}
          onConfirm={(button) => submitting(button, rotate)}
          isSubmit
          isDisabled={secret === '' || change.isPending}
        >
          <p>Receivers that do not know the new secret will refuse new deliveries. The secret is not shown again.</p>
        </Confirm>
      </Form>
    </section>
  );
}
