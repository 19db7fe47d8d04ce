/** The fields that an action may have, and how it is shown: its secrets by name only. */
import { isDeepStrictEqual } from 'node:util';
import type { Seal } from '@gatepost/runtime/seal';
import { z } from 'zod';
import { type Dependency, packageName, storedDependencies } from '../actions/packages.ts';
import { openActionSecrets, type Secret } from '../actions/secrets.ts';
import { syntaxProblem } from '../actions/syntax.ts';
import { isTriggerId, runtimes, triggerIds, versionOf } from '../actions/triggers.ts';
import type { ActionModel, ActionVersionModel } from '../generated/models.ts';
import { badBody } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';

const codeMax = 100_000;
/** What tools write for a secret that they could not read. */
const notShown = '_VALUE_NOT_SHOWN_';

const triggersShape = z
  .array(
    z.looseObject({
      id: z.string().refine(isTriggerId, `Gatepost has only these triggers: ${triggerIds.join(', ')}`),
      version: z.string().max(20).optional(),
    }),
  )
  .length(1, 'An action has one trigger');

const secretsShape = z
  .array(
    z.looseObject({
      name: z.string().regex(/^[A-Za-z_$][\w$-]{0,127}$/, 'Not the name of a secret'),
      value: z.string().max(4_096).nullish(),
    }),
  )
  .max(50)
  .refine(
    (secrets) => new Set(secrets.map(({ name }) => name)).size === secrets.length,
    'Two secrets have the same name',
  );

/** Other fields in Auth0's answer, such as `registry_url`, are accepted but not stored. */
const dependenciesShape = z
  .array(z.looseObject({ name: packageName, version: z.string().trim().max(256).nullish() }))
  .max(50)
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'Two dependencies have the same name')
  .transform((list): Dependency[] => list.map(({ name, version }) => ({ name, version: version || 'latest' })));

const shape = z.strictObject({
  name: z.string().trim().min(1).max(256),
  supported_triggers: triggersShape,
  code: z.string().max(codeMax),
  runtime: z.enum(runtimes as [string, ...string[]]),
  secrets: secretsShape,
  dependencies: dependenciesShape,
  modules: z.array(z.unknown()).max(0, 'Modules are not in Gatepost'),
  /** Whether to deploy right after creation. */
  deploy: z.boolean(),
});
// biome-ignore format: a list
const readOnly = [
  'id', 'created_at', 'updated_at', 'built_at', 'status', 'all_changes_deployed', 'deployed', 'deployed_version', 'current_version',
  'installed_integration_id', 'integration', 'errors', 'number', 'action', 'action_id',
];

export const createBody = ignoringReadOnly(
  shape.partial().required({ name: true, supported_triggers: true }),
  readOnly,
);
export const updateBody = ignoringReadOnly(shape.partial(), readOnly);

export type GivenSecrets = z.output<typeof secretsShape>;

/**
 * The list after a change: it replaces the one before. A secret without a value keeps its old value.
 * @throws ManagementProblem for one that had none
 */
export function secretsAfter(before: Secret[], given: GivenSecrets): Secret[] {
  const now = new Date().toISOString();
  return given.map(({ name, value }) => {
    const known = before.find((secret) => secret.name === name);
    if (value != null && value !== notShown) return known?.value === value ? known : { name, value, updated_at: now };
    if (!known) throw badBody(`secrets: ${name} has no value`);
    return known;
  });
}

const shownSecrets = (secrets: Secret[]) => secrets.map(({ name, updated_at }) => ({ name, updated_at }));

const triggerOf = (id: string) => ({ id, version: isTriggerId(id) ? versionOf(id) : 'v1' });

const statusOf = (code: string) => (syntaxProblem(code) === undefined ? 'built' : 'failed');

export type ActionWithDeployed = ActionModel & { versions: ActionVersionModel[] };

/** @param action with its deployed version, if any, in `versions` */
export function presentAction(action: ActionWithDeployed, seal: Seal): object {
  const deployed = action.versions.find((version) => version.deployed);
  const secrets = openActionSecrets(action.secrets, seal);
  const dependencies = storedDependencies(action.dependencies);
  const isSame =
    deployed?.code === action.code &&
    deployed.runtime === action.runtime &&
    isDeepStrictEqual(storedDependencies(deployed.dependencies), dependencies) &&
    JSON.stringify(openActionSecrets(deployed.secrets, seal)) === JSON.stringify(secrets);
  return {
    ...bareAction(action),
    code: action.code,
    dependencies,
    runtime: action.runtime,
    secrets: shownSecrets(secrets),
    status: statusOf(action.code),
    all_changes_deployed: isSame,
    ...(deployed && { deployed_version: presentVersion(deployed, seal) }),
    installed_integration_id: null,
  };
}

export function bareAction(action: ActionModel): object {
  return {
    id: action.id,
    name: action.name,
    supported_triggers: [triggerOf(action.triggerId)],
    created_at: action.createdAt.toISOString(),
    updated_at: action.updatedAt.toISOString(),
  };
}

export function presentVersion(version: ActionVersionModel, seal: Seal): object {
  return {
    id: version.id,
    action_id: version.actionId,
    number: version.number,
    code: version.code,
    dependencies: storedDependencies(version.dependencies),
    runtime: version.runtime,
    secrets: shownSecrets(openActionSecrets(version.secrets, seal)),
    deployed: version.deployed,
    status: 'built',
    errors: [],
    created_at: version.createdAt.toISOString(),
    updated_at: version.updatedAt.toISOString(),
    built_at: version.createdAt.toISOString(),
  };
}
