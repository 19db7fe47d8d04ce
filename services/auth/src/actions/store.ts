/** Which actions run at a trigger, in order: first the folder's, then those deployed and bound. Cached until they change. */
import type { Seal } from '@gatepost/runtime/seal';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Pool } from '../database.ts';
import { storedDependencies } from './packages.ts';
import { openActionSecrets } from './secrets.ts';
import { isTriggerId, type TriggerId } from './triggers.ts';

export type BoundAction = {
  id: string;
  name: string;
  /** Differs for other code, other secrets or other packages. */
  version: string;
  code: string;
  secrets: Record<string, string>;
  /** Names of npm packages. */
  dependencies: readonly string[];
};

export type ActionStore = {
  /** Takes no statement while nothing changes. */
  at(trigger: TriggerId): Promise<readonly BoundAction[]>;
  /** Call it when this process has changed something. */
  clear(): void;
};

/** @param present called with all actions that run, whenever they were reread */
export function makeActionStore(parts: {
  pool: Pool;
  changes: Changes;
  seal: Seal;
  ofFolder: Map<TriggerId, BoundAction[]>;
  present: (versions: Set<string>) => void;
}): ActionStore {
  const { pool, changes, seal, ofFolder, present } = parts;
  const cache = makeCache<Map<TriggerId, BoundAction[]>>({
    changes,
    tables: ['action_versions', 'action_bindings'],
    async load() {
      const { rows } = await pool.query<Row>({
        name: 'bound actions',
        text: `SELECT binding.trigger_id, action.id, action.name, version.id AS version, version.code, version.secrets, version.dependencies
                 FROM action_bindings binding JOIN actions action ON action.id = binding.action_id
                 JOIN action_versions version ON version.action_id = action.id AND version.deployed
                ORDER BY binding.position`,
      });
      const found = new Map([...ofFolder].map(([trigger, actions]) => [trigger, [...actions]]));
      for (const { trigger_id: trigger, secrets, dependencies, ...action } of rows) {
        if (!isTriggerId(trigger)) continue;
        const named = openActionSecrets(secrets, seal).map(({ name, value }) => [name, value] as const);
        const packages = storedDependencies(dependencies).map(({ name }) => name);
        const bound = { ...action, secrets: Object.fromEntries(named), dependencies: packages };
        found.set(trigger, [...(found.get(trigger) ?? []), bound]);
      }
      present(new Set([...found.values()].flat().map(({ version }) => version)));
      return found;
    },
  });
  return { at: async (trigger) => (await cache.get('all')).get(trigger) ?? none, clear: cache.clear };
}

const none: readonly BoundAction[] = [];

type Row = Omit<BoundAction, 'secrets' | 'dependencies'> & {
  trigger_id: string;
  secrets: Buffer | null;
  dependencies: unknown;
};
