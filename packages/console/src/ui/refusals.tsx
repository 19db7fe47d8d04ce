/** What the API refused in a form: said at the field of that name, or after all fields if none has it. */
import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react';
import { ApiProblem } from '../api/client.ts';
import { Problem } from './states.tsx';

type Said = ApiProblem['fields'];
type Claim = (name: string) => () => void;
const RefusalContext = createContext<{ said: Said; claim: Claim }>({ said: [], claim: () => () => {} });

export function Refusals({ error, children }: { error: Error | null; children: ReactNode }) {
  const [names, setNames] = useState<readonly string[]>([]);
  const claim = useCallback((name: string) => {
    setNames((known) => [...known, name]);
    return () => setNames((known) => known.filter((other) => other !== name));
  }, []);
  const said = error instanceof ApiProblem ? error.fields : [];
  const isAtField = said.length > 0 && said.every(({ field }) => names.some((name) => isPartOf(field, name)));
  useEffect(() => {
    if (error && isAtField) document.querySelector<HTMLElement>('#content [aria-invalid="true"]')?.focus();
  }, [error, isAtField]);
  return (
    <RefusalContext value={{ said, claim }}>
      {children}
      {error && !isAtField && <Problem error={error} />}
    </RefusalContext>
  );
}

/** `name`: the field's in the API. `values`: those of a list, one of which may be wrong. */
export function useRefusal(name: string | undefined, values?: readonly string[]): string | undefined {
  const { said, claim } = use(RefusalContext);
  useEffect(() => (name === undefined ? undefined : claim(name)), [name, claim]);
  const found = name === undefined ? undefined : said.find(({ field }) => isPartOf(field, name));
  const value = found && values?.[Number(found.field.split('.').at(-1))];
  return value === undefined ? found?.message : `${value}: ${found?.message}`;
}

const isPartOf = (field: string, name: string) => field === name || field.startsWith(`${name}.`);
