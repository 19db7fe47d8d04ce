/** Fields with their label, their hint and what is wrong with them, said to everybody in the same way. */
import type { ReactNode } from 'react';
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

export function TextField({
  label,
  hint,
  problem,
  placeholder,
  ...rest
}: TextFieldProps & { label: string; hint?: ReactNode; problem?: string | undefined; placeholder?: string }) {
  return (
    <AriaTextField
      className="field"
      {...rest}
      isInvalid={problem !== undefined}
      // What the API refused once must not keep the browser from sending it again.
      validationBehavior={problem === undefined ? 'native' : 'aria'}
    >
      <Label>{label}</Label>
      <Input placeholder={placeholder} spellCheck={false} autoComplete="off" />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="wrong">{problem}</FieldError>
    </AriaTextField>
  );
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
  children: ReactNode;
}) {
  return (
    <AriaCheckbox className="checkbox" {...rest}>
      <span className="box" aria-hidden="true" />
      <span>{children}</span>
    </AriaCheckbox>
  );
}
