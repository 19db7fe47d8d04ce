/** `actions/actions`: the tenant’s own code as drafts, and their deployed versions (../actions). */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type ActionPackages, type Dependency, storedDependencies } from '../actions/packages.ts';
import { openActionSecrets, sealActionSecrets } from '../actions/secrets.ts';
import { syntaxProblem } from '../actions/syntax.ts';
import { defaultRuntime, handlerOf, isTriggerId } from '../actions/triggers.ts';
import { withoutSecretsWithin } from '../actions/worker/mask.ts';
import { Prisma } from '../database.ts';
import type { ActionModel, ActionVersionModel } from '../generated/models.ts';
import {
  type ActionWithDeployed,
  createBody,
  presentAction,
  presentVersion,
  secretsAfter,
  updateBody,
} from './action-body.ts';
import { type Answer, created, gone, ok, operation } from './operation.ts';
import { pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, conflict, missing } from './problem.ts';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
/** Includes the deployed version. */
const withDeployedVersion = { versions: { where: { deployed: true } } } as const;
const versionsKept = 50;

/** Always an object, as at Auth0. */
export const pageOf = <Item>(
  name: string,
  { page, per_page }: { page: number; per_page: number },
  all: Item[],
): Answer => ok({ total: all.length, page, per_page, [name]: all.slice(page * per_page, (page + 1) * per_page) });

export const listActions = operation({
  query: z.strictObject({
    ...pageQuery,
    triggerId: z.string().max(64).optional(),
    actionName: z.string().max(256).optional(),
    deployed: flag.optional(),
    installed: flag.optional(),
  }),
  async run({ parts, query: { triggerId, actionName, deployed, installed, ...paging } }) {
    const found = await parts.db.action.findMany({
      where: {
        ...(triggerId !== undefined && { triggerId }),
        ...(actionName !== undefined && { name: actionName }),
        ...(deployed !== undefined && { versions: deployed ? { some: { deployed } } : { none: { deployed: true } } }),
        // Integrations of Auth0’s marketplace do not exist here.
        ...(installed === true && { id: { in: [] } }),
      },
      include: withDeployedVersion,
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
    return pageOf(
      'actions',
      paging,
      found.map((action) => presentAction(action, parts.seal)),
    );
  },
});

export const createAction = operation({
  body: createBody,
  async run({ parts, body }) {
    const { seal } = parts;
    const code = body.code ?? '';
    if (body.deploy) checkSyntax(code);
    await checkDependencies(parts, body.dependencies);
    const data = {
      id: randomUUID(),
      name: body.name,
      triggerId: body.supported_triggers[0]!.id,
      code,
      runtime: body.runtime ?? defaultRuntime,
      ...columnOf(body.dependencies),
      secrets: sealActionSecrets(secretsAfter([], body.secrets ?? []), seal),
    };
    const action = await parts.db.action.create({ data, include: withDeployedVersion }).catch(refuseName);
    if (!body.deploy) return created(presentAction(action, seal));
    await deploy(parts, action.id);
    return created(presentAction(await loadAction(parts, action.id), seal));
  },
});

export const getAction = operation({
  run: async ({ parts, params }) => ok(presentAction(await loadAction(parts, params.id), parts.seal)),
});

export const updateAction = operation({
  body: updateBody,
  async run({ parts, params, body }) {
    const { seal } = parts;
    const { id, triggerId } = await loadAction(parts, params.id);
    const [trigger] = body.supported_triggers ?? [];
    if (trigger && trigger.id !== triggerId) throw badBody('the trigger of an action cannot be changed');
    await checkDependencies(parts, body.dependencies);
    const dataAfter = (before: ActionModel) => ({
      ...(body.name !== undefined && { name: body.name }),
      ...(body.code !== undefined && { code: body.code }),
      ...(body.runtime !== undefined && { runtime: body.runtime }),
      ...(body.dependencies && columnOf(body.dependencies)),
      ...(body.secrets && {
        secrets: sealActionSecrets(secretsAfter(openActionSecrets(before.secrets, seal), body.secrets), seal),
      }),
    });
    // Concurrent changes wait for each other: a secret without a value keeps the one that it has by then.
    const changed = await parts.db
      .$transaction(async (writer) => {
        await writer.$queryRaw`SELECT FROM actions WHERE id = ${id} FOR UPDATE`;
        const data = dataAfter(await writer.action.findUniqueOrThrow({ where: { id } }));
        return writer.action.update({ where: { id }, data, include: withDeployedVersion });
      })
      .catch(refuseName);
    return ok(presentAction(changed, seal));
  },
});

export const deleteAction = operation({
  query: z.strictObject({ force: flag.default(false) }),
  async run({ parts, params, query: { force } }) {
    const { id } = await loadAction(parts, params.id);
    if (!force && (await parts.db.actionBinding.count({ where: { actionId: id } })) > 0)
      throw conflict('action_bound', 'The action is bound to a trigger; take it off there first, or use force=true.');
    await parts.db.action.deleteMany({ where: { id } });
    parts.actions.clear();
    return gone;
  },
});

export const deployAction = operation({
  async run({ parts, params }) {
    const { id, code, dependencies } = await loadAction(parts, params.id);
    checkSyntax(code);
    await checkDependencies(parts, storedDependencies(dependencies));
    return { status: 202, body: presentVersion(await deploy(parts, id), parts.seal) };
  },
});

export const listActionVersions = operation({
  query: z.strictObject(pageQuery),
  async run({ parts, params, query }) {
    const { id: actionId } = await loadAction(parts, params.id);
    const versions = await parts.db.actionVersion.findMany({ where: { actionId }, orderBy: { number: 'desc' } });
    return pageOf(
      'versions',
      query,
      versions.map((version) => presentVersion(version, parts.seal)),
    );
  },
});

export const getActionVersion = operation({
  run: async ({ parts, params }) => ok(presentVersion(await loadVersion(parts, params), parts.seal)),
});

/** Deploys an earlier version again, as a new one. */
export const deployActionVersion = operation({
  body: z.strictObject({ update_draft: z.boolean() }).partial(),
  async run({ parts, params, body }) {
    const { actionId, code, runtime, secrets, dependencies } = await loadVersion(parts, params);
    await checkDependencies(parts, storedDependencies(dependencies));
    const content = { code, runtime, secrets, dependencies };
    if (body.update_draft) await parts.db.action.update({ where: { id: actionId }, data: dataOf(content) });
    return { status: 202, body: presentVersion(await deploy(parts, actionId, content), parts.seal) };
  },
});

/** Runs the draft with an event given by the caller; nothing that it asks for is carried out. */
export const testAction = operation({
  body: z.strictObject({ payload: z.record(z.string(), z.unknown()) }),
  async run({ parts, params, body: { payload } }) {
    const { id: actionId, triggerId, code, secrets, dependencies } = await loadAction(parts, params.id);
    if (!isTriggerId(triggerId)) throw badBody(`there is no trigger ${triggerId}`);
    const named = Object.fromEntries(openActionSecrets(secrets, parts.seal).map(({ name, value }) => [name, value]));
    const event = (payload.event ?? payload) as object;
    const packages = storedDependencies(dependencies).map(({ name }) => name);
    const draft = { version: `draft ${actionId} ${randomUUID()}`, code, secrets: named, dependencies: packages };
    const call = { trigger: triggerId, handler: handlerOf(triggerId), event, canRedirect: triggerId === 'post-login' };
    const ran = await parts.actionPool.tryOut(draft, call);
    const said =
      ran.kind === 'done' ? { commands: ran.commands } : { error: { reason: ran.reason, message: ran.message } };
    return ok({ payload: withoutSecretsWithin({ ...said, logs: ran.output }, named) });
  },
});

export const getExecution = operation({
  async run({ parts, params: { id = '' } }) {
    const found = await parts.executions.find(id);
    if (!found) throw missing('execution', 'The execution does not exist, or is no longer kept.');
    return ok(found);
  },
});

/** @throws ManagementProblem 404 */
async function loadAction({ db }: Pick<Parts, 'db'>, id = ''): Promise<ActionWithDeployed> {
  const action = await db.action.findUnique({ where: { id }, include: withDeployedVersion });
  if (!action) throw missing('action', 'The action does not exist.');
  return action;
}

async function loadVersion(parts: Parts, { id, version_id }: Record<string, string>): Promise<ActionVersionModel> {
  const { id: actionId } = await loadAction(parts, id);
  const version = await parts.db.actionVersion.findFirst({ where: { id: version_id ?? '', actionId } });
  if (!version) throw missing('action_version', 'The version does not exist.');
  return version;
}

type Content = Pick<ActionVersionModel, 'code' | 'runtime' | 'secrets' | 'dependencies'>;

/** In Prisma's form, which distinguishes a JSON null from a database null. */
const dataOf = ({ dependencies, ...content }: Content) => ({
  ...content,
  ...columnOf(storedDependencies(dependencies)),
});

const columnOf = (dependencies: readonly Dependency[] = []) => ({
  dependencies: dependencies.length > 0 ? [...dependencies] : Prisma.DbNull,
});

/** Makes the draft, or `content`, what runs from now on. Serialized, so that each version number is used once. */
async function deploy({ db, actions }: Parts, actionId: string, content?: Content): Promise<ActionVersionModel> {
  const version = await db.$transaction(async (writer) => {
    await writer.$queryRaw`SELECT FROM actions WHERE id = ${actionId} FOR UPDATE`;
    const action = await writer.action.findUnique({
      where: { id: actionId },
      include: { versions: { orderBy: { number: 'desc' }, take: 1 } },
    });
    if (!action) throw missing('action', 'The action does not exist.');
    const number = (action.versions[0]?.number ?? 0) + 1;
    await writer.actionVersion.updateMany({ where: { actionId, deployed: true }, data: { deployed: false } });
    await writer.actionVersion.deleteMany({ where: { actionId, number: { lte: number - versionsKept } } });
    const { code, runtime, secrets, dependencies } = content ?? action;
    const copied = dataOf({ code, runtime, secrets, dependencies });
    return writer.actionVersion.create({ data: { id: randomUUID(), actionId, number, ...copied, deployed: true } });
  });
  actions.clear();
  return version;
}

/** Code with a syntax error can be saved as a draft, but never runs. */
function checkSyntax(code: string): void {
  const problem = syntaxProblem(code);
  if (problem) throw badBody(`the code cannot be deployed: ${problem}`);
}

/** Compares with what is in the folder now. @throws ManagementProblem naming each package that is missing or has another version */
async function checkDependencies(
  { actionPackages }: { actionPackages: ActionPackages },
  dependencies: readonly Dependency[] = [],
): Promise<void> {
  const problems = await actionPackages.problemsOf(dependencies);
  if (problems.length > 0) throw badBody(`dependencies: ${problems.join('; ')}`);
}

function refuseName(error: unknown): never {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
    throw conflict('action_conflict', 'An action with this name already exists.');
  throw error;
}
