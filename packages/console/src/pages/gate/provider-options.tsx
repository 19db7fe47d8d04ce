/** The fields for what the gate must know of a provider, and what is sent of them. */
import type { Connection } from '../../api/management-types.ts';
import { Copy } from '../../ui/copy.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Area } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { strategies } from './strategies.ts';

export type Texts = Record<string, string>;

export function ProviderOptions({
  strategy,
  options,
  onChange,
}: {
  strategy: string;
  options: Texts;
  onChange: (options: Texts) => void;
}) {
  const { api } = useGate();
  const callback = `${api.issuer}login/callback`;
  return (
    <>
      <p className="note">
        Register the gate with the provider, using the callback URL <code className="url">{callback}</code>{' '}
        <Copy text={callback} />
      </p>
      {strategies[strategy]?.options?.map(({ name, label, placeholder, hint, isOptional, isLong }) =>
        isLong ? (
          <Area
            key={name}
            label={label}
            name={`options.${name}`}
            value={options[name] ?? ''}
            onChange={(value) => onChange({ ...options, [name]: value })}
          />
        ) : (
          <TextField
            key={name}
            label={label}
            name={`options.${name}`}
            isRequired={!isOptional}
            value={options[name] ?? ''}
            onChange={(value) => onChange({ ...options, [name]: value })}
            {...(placeholder !== undefined && { placeholder })}
            hint={hint}
          />
        ),
      )}
    </>
  );
}

export function textsOf({ strategy, options = {} }: Connection): Texts {
  const known = strategies[strategy]?.options ?? [];
  const textOf = (value: unknown) => (Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '');
  return Object.fromEntries(known.map(({ name }) => [name, textOf(options[name])]));
}

/** Empty fields are not set. */
export function optionsOf(strategy: string, texts: Texts): Record<string, string | null> {
  const known = strategies[strategy]?.options ?? [];
  return Object.fromEntries(known.map(({ name }) => [name, texts[name]?.trim() || null]));
}
