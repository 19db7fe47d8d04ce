/** Fields with label, hint and error, announced to everybody in the same way. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import {
  Checkbox as AriaCheckbox,
  TextField as AriaTextField,
  FieldError,
  Input,
  Label,
  Radio,
  RadioGroup,
  Text,
  type TextFieldProps,
} from 'react-aria-components';
import { latestLocal } from './local-time.ts';
import { useRefusal } from './refusals.tsx';

export function TextField({
  label,
  hint,
  problem,
  placeholder,
  suggestions,
  ...rest
}: TextFieldProps & {
  label: string;
  hint?: ReactNode;
  problem?: string | undefined;
  placeholder?: string;
  suggestions?: readonly string[] | undefined;
}) {
  const listId = useId();
  const refusal = useRefusal(rest.name);
  const wrong = problem ?? refusal;
  return (
    <AriaTextField
      className="field"
      {...rest}
      isInvalid={wrong !== undefined}
      // A value that the API refused once must not keep the browser from sending it again.
      validationBehavior={wrong === undefined ? 'native' : 'aria'}
    >
      <Label>{label}</Label>
      <Input
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        list={suggestions && listId}
        max={rest.type === 'datetime-local' ? latestLocal : undefined}
      />
      {suggestions && (
        <datalist id={listId}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="wrong">{wrong}</FieldError>
    </AriaTextField>
  );
}

/** Reports the text once typing has stopped, so that not every letter is a request. */
export function SearchField({
  value,
  onChange,
  ...rest
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  placeholder?: string;
  problem?: string | undefined;
  suggestions?: readonly string[] | undefined;
}) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const said = useRef(value);
  // Another filter may be set while the timer runs: what is called then must know it.
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => {
    // Its own comes back without the space at its end, and perhaps after the next letter was typed.
    if (value === said.current) return;
    said.current = value;
    clearTimeout(timer.current);
    setTyped(value); // "back", or a link, sets another one
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      said.current = text.trim();
      latest.current(said.current);
    }, 300);
  };
  return <TextField {...rest} value={typed} onChange={change} />;
}

export function Choice<T extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: Record<T, string>;
}) {
  return (
    <RadioGroup className="field" value={value} onChange={(chosen) => onChange(chosen as T)}>
      <Label>{label}</Label>
      <div className="choices">
        {(Object.entries(options) as [T, string][]).map(([key, text]) => (
          <Radio key={key} value={key} className="choice">
            {text}
          </Radio>
        ))}
      </div>
    </RadioGroup>
  );
}

export function Checkbox({
  children,
  ...rest
}: {
  isSelected: boolean;
  onChange: (is: boolean) => void;
  isInvalid?: boolean;
  'aria-describedby'?: string | undefined;
  children: ReactNode;
}) {
  return (
    <AriaCheckbox className="checkbox" {...rest} validationBehavior="aria">
      <span className="box" aria-hidden="true" />
      <span>{children}</span>
    </AriaCheckbox>
  );
}

/** A choice of one, in the browser's own list. */
export function Select<T extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: readonly (readonly [value: T, text: string])[];
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ target }) => onChange(options.find(([key]) => key === target.value)![0])}
      >
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
