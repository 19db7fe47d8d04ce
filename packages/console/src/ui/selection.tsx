/** The selected rows of a list, by their ids. */
import { useState } from 'react';
import { Checkbox as AriaCheckbox } from 'react-aria-components';

export type Selection<Id> = {
  ids: Id[];
  has(id: Id): boolean;
  toggle(id: Id, is: boolean): void;
  set(ids: readonly Id[]): void;
};

/** Ids that disappear from `shown` are deselected. */
export function useSelection<Id>(shown: readonly Id[]): Selection<Id> {
  const [chosen, setChosen] = useState<ReadonlySet<Id>>(new Set());
  return {
    ids: shown.filter((id) => chosen.has(id)),
    has: (id) => chosen.has(id),
    toggle(id, is) {
      const next = new Set(chosen);
      if (is) next.add(id);
      else next.delete(id);
      setChosen(next);
    },
    set: (ids) => setChosen(new Set(ids)),
  };
}

/** A row's checkbox. `label`: what it selects, for screen readers. */
export function Tick({
  label,
  isSelected,
  isIndeterminate = false,
  onChange,
}: {
  label: string;
  isSelected: boolean;
  isIndeterminate?: boolean;
  onChange: (is: boolean) => void;
}) {
  return (
    <AriaCheckbox
      className="checkbox tick"
      aria-label={label}
      isSelected={isSelected}
      isIndeterminate={isIndeterminate}
      onChange={onChange}
    >
      <span className="box" aria-hidden="true" />
    </AriaCheckbox>
  );
}

/** Selects all visible rows, or none. */
export function TickAll<Id>({
  shown,
  selection,
  label,
}: {
  shown: readonly Id[];
  selection: Selection<Id>;
  label: string;
}) {
  const count = selection.ids.length;
  return (
    <Tick
      label={label}
      isSelected={count > 0 && count === shown.length}
      isIndeterminate={count > 0 && count < shown.length}
      onChange={(is) => selection.set(is ? shown : [])}
    />
  );
}
