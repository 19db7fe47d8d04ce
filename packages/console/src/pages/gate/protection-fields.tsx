/** Fields shared by the parts of attack protection. */
import { type ReactNode, useState } from 'react';
import { Area, linesOf, NumberField } from './fields.tsx';

/** Renders a part's settings, and reports changes to them. */
export type Fields<T> = (value: T, change: (part: Partial<T>) => void) => ReactNode;

/** Kept as typed while it means the value. Anything that is not a number yet is sent as it is: the API says what is wrong. */
export function Amount({
  label,
  name,
  hint,
  value,
  onChange,
}: {
  label: string;
  name: string;
  hint?: string;
  value: number;
  onChange: (value: number) => void;
}) {
  const [typed, setTyped] = useState(String(value));
  return (
    <NumberField
      label={label}
      name={name}
      hint={hint}
      isRequired
      value={Object.is(Number(typed), value) ? typed : String(value)}
      onChange={(text) => {
        setTyped(text);
        onChange(Number(text));
      }}
    />
  );
}

/** Kept as typed while it means the value, so that new lines can be started. */
export function Allowlist({
  of = 'counted',
  value,
  onChange,
}: {
  /** Completes the hint: addresses that are not … */
  of?: string;
  value: string[];
  onChange: (value: string[]) => void;
}) {
  const [typed, setTyped] = useState(value.join('\n'));
  return (
    <Area
      label="IP AllowList"
      name="allowlist"
      hint={`Addresses and CIDR blocks that are not ${of}, one per line.`}
      value={String(linesOf(typed)) === String(value) ? typed : value.join('\n')}
      onChange={(text) => {
        setTyped(text);
        onChange(linesOf(text));
      }}
    />
  );
}
