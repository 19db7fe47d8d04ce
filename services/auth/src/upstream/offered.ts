/** The providers that a sign-in offers: as buttons, or by the domain of an address (home realm discovery). */
import type { ConnectionModel } from '../generated/models.ts';
import type { ProviderButton } from '../pages/pages.ts';
import { domainsOf } from './options.ts';
import { isUpstream, type StrategyDefinition, strategies } from './strategies.ts';

type Shown = { display_name?: unknown; show_as_button?: unknown };

/** The name that people read. */
export function labelOf({ name, strategy, inert }: Pick<ConnectionModel, 'name' | 'strategy' | 'inert'>): string {
  const { display_name: given } = inert as Shown;
  if (typeof given === 'string' && given.trim()) return given.trim();
  const label =
    isUpstream(strategy) && name === strategy ? (strategies[strategy] as StrategyDefinition).label : undefined;
  return label ?? name;
}

/**
 * The connections that have a button: as at Auth0, all that anybody may use, and a directory if it says so (`show_as_button`) or has
 * no domains by which to find it.
 */
export function buttonsOf(connections: ConnectionModel[], path: (step: string) => string): ProviderButton[] {
  return connections.filter(hasButton).map((connection) => {
    const { icon_url: icon } = connection.options as { icon_url?: unknown };
    return {
      href: path(`connection/${encodeURIComponent(connection.name)}`),
      label: labelOf(connection),
      mark: connection.strategy,
      ...(typeof icon === 'string' && { icon }),
    };
  });
}

function hasButton(connection: ConnectionModel): boolean {
  const { show_as_button: given } = connection.inert as Shown;
  if (!isUpstream(connection.strategy) || given === false) return false;
  return given === true || strategies[connection.strategy].kind === 'social' || domainsOf(connection).length === 0;
}

/** The connection for the domain of this address. */
export function homeRealmOf(connections: ConnectionModel[], typed: string): ConnectionModel | undefined {
  const domain = typed.trim().toLowerCase().split('@')[1];
  return domain ? connections.find((connection) => domainsOf(connection).includes(domain)) : undefined;
}

export function hasHomeRealms(connections: ConnectionModel[]): boolean {
  return connections.some((connection) => domainsOf(connection).length > 0);
}
