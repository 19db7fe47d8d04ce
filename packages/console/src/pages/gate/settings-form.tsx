/** A form for existing settings: saves all together, and confirms it. Read-only for people who may not change them. */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { Refusals } from '../../ui/refusals.tsx';
import { withLater } from '../changes.ts';

/** `isPage`: its fields are separate panels. */
export function SettingsForm({
  label,
  isPage = false,
  className = isPage ? undefined : 'panel form',
  save,
  onSave,
  mayChange = true,
  saved = 'Saved.',
  buttons,
  note,
  children,
}: {
  label: string;
  isPage?: boolean;
  className?: string | undefined;
  save: { error: Error | null; isPending: boolean; isSuccess: boolean };
  onSave(): void;
  mayChange?: boolean;
  saved?: string;
  /** Shown beside "Save". */
  buttons?: ReactNode;
  /** Shown after the confirmation that it was saved. */
  note?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Form
      {...(className && { className })}
      {...(!isPage && { 'aria-label': label })}
      onSubmit={(event) => {
        event.preventDefault();
        onSave();
      }}
    >
      <Refusals error={save.error}>
        <fieldset className={isPage ? 'bare' : 'bare form'} disabled={!mayChange}>
          <legend className="hidden">{label}</legend>
          {children}
        </fieldset>
      </Refusals>
      {mayChange && (
        <div className={isPage ? 'actions save' : 'actions'}>
          <Button className="button primary" type="submit" isDisabled={save.isPending}>
            {save.isPending ? 'Saving …' : 'Save'}
          </Button>
          {buttons}
          <span role="status" className="good-text">
            {save.isSuccess ? saved : ''}
          </span>
          {note}
        </div>
      )}
    </Form>
  );
}

/**
 * What such a form shows of something, and its saving: `send` gets what was last read or saved, so that it sends only the changes and keeps
 * those by others meanwhile. What is typed while it is being saved stays.
 */
export function useSettings<Saved, Fields extends object>(
  initial: Saved,
  formOf: (saved: Saved) => Fields,
  send: (saved: Saved, form: Fields) => Promise<Saved>,
  onSaved: (changed: Saved) => unknown,
) {
  const [saved, setSaved] = useState(initial);
  const [form, setForm] = useState(() => formOf(initial));
  const save = useMutation({
    mutationFn: async () => ({ sent: form, changed: await send(saved, form) }),
    onSuccess: ({ sent, changed }) => {
      setSaved(changed);
      setForm((now) => withLater(formOf(changed), sent, now));
      return onSaved(changed);
    },
  });
  const change = (part: Partial<Fields>) => {
    save.reset();
    setForm({ ...form, ...part });
  };
  return { form, save, change };
}
