/** A form for existing settings: saves all together, and confirms it. Read-only for people who may not change them. */
import type { ReactNode } from 'react';
import { Button, Form } from 'react-aria-components';
import { Refusals } from '../../ui/refusals.tsx';

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
