/** Fields that only the gate's pages have. */
import { type ReactNode, useId } from 'react';
import { Checkbox, TextField } from '../../ui/fields.tsx';
import { useRefusal } from '../../ui/refusals.tsx';

/** A text of several lines. `name`: in the API, for what it says of the text. */
export function Area({
  label,
  name,
  hint,
  problem,
  value,
  onChange,
  rows = 3,
  isCode = true,
}: {
  label: string;
  name?: string;
  hint?: ReactNode;
  problem?: string | undefined;
  value: string;
  onChange: (value: string) => void;
  rows?: number;
  isCode?: boolean;
}) {
  const id = useId();
  const refusal = useRefusal(name, linesOf(value));
  const wrong = problem ?? refusal;
  const described = [hint && `${id}-hint`, wrong && `${id}-problem`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className={isCode ? 'code' : undefined}
        rows={rows}
        value={value}
        spellCheck={false}
        aria-describedby={described === '' ? undefined : described}
        aria-invalid={wrong === undefined ? undefined : true}
        onChange={({ target }) => onChange(target.value)}
      />
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span className="wrong" id={`${id}-problem`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

export const linesOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** A number, kept as typed. */
export function NumberField({
  label,
  name,
  hint,
  isRequired = false,
  value,
  onChange,
}: {
  label: string;
  name?: string;
  hint?: ReactNode;
  isRequired?: boolean;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <TextField
      label={label}
      isRequired={isRequired}
      {...(name !== undefined && { name })}
      hint={hint}
      value={value}
      onChange={onChange}
      inputMode="numeric"
      pattern="[0-9]*"
    />
  );
}

/** A choice of several from a list, with checkboxes. */
export function CheckboxList({
  legend,
  hint,
  all,
  chosen,
  onChange,
  isDisabled = false,
}: {
  legend: string;
  hint?: ReactNode;
  all: readonly { value: string; text: ReactNode }[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  isDisabled?: boolean;
}) {
  return (
    <fieldset className="field" disabled={isDisabled}>
      <legend>{legend}</legend>
      {hint && <span className="hint">{hint}</span>}
      {all.map(({ value, text }) => (
        <Checkbox
          key={value}
          isSelected={chosen.includes(value)}
          onChange={(is) => onChange(is ? [...chosen, value] : chosen.filter((other) => other !== value))}
        >
          {text}
        </Checkbox>
      ))}
    </fieldset>
  );
}

/** A long list that scrolls within itself, reachable by keyboard even while nothing in it is. */
export function Catalogue({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section className="catalogue" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
