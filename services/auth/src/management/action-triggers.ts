/** `actions/triggers`: where actions run, and which ones, in which order. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defaultRuntime, isTriggerId, runtimes, type TriggerId, triggerIds, versionOf } from '../actions/triggers.ts';
import type { ActionBindingModel, ActionModel } from '../generated/models.ts';
import { bareAction } from './action-body.ts';
import { pageOf } from './actions.ts';
import { ok, operation } from './operation.ts';
import { pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody, missing } from './problem.ts';

export const listTriggers = operation({
  run: () =>
    ok({
      triggers: triggerIds.map((id) => ({
        id,
        version: versionOf(id),
        status: 'CURRENT',
        runtimes,
        default_runtime: defaultRuntime,
        binding_policy: 'trigger-bound',
        compatible_triggers: [],
      })),
    }),
});

export const listBindings = operation({
  query: z.strictObject(pageQuery),
  async run({ parts, params, query }) {
    const bindings = await bindingsOf(parts, triggerNamed(params.trigger_id));
    return pageOf('bindings', query, bindings);
  },
});

const refShape = z.strictObject({
  type: z.enum(['binding_id', 'action_id', 'action_name']),
  value: z.string().min(1).max(256),
});

const bindingsMax = 50;

/** Replaces the list; the actions run in its order. */
export const updateBindings = operation({
  body: z.strictObject({
    bindings: z
      .array(
        z.looseObject({
          ref: refShape,
          display_name: z.string().trim().min(1).max(256).optional(),
          secrets: z.array(z.unknown()).max(0, 'Secrets stand with the action').optional(),
        }),
      )
      .max(bindingsMax),
  }),
  async run({ parts, params, body }) {
    const triggerId = triggerNamed(params.trigger_id);
    await parts.db.$transaction(async (writer) => {
      await writer.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`bindings ${triggerId}`}, 0))::text`;
      const before = await writer.actionBinding.findMany({ where: { triggerId } });
      const named: { id: string; action: ActionModel; displayName: string }[] = [];
      for (const { ref, display_name } of body.bindings) {
        const known = before.find(({ id }) => ref.type === 'binding_id' && id === ref.value);
        const where = ref.type === 'action_name' ? { name: ref.value } : { id: known?.actionId ?? ref.value };
        const action = ref.type === 'binding_id' && !known ? null : await writer.action.findUnique({ where });
        if (!action) throw badBody(`there is no action with the ${ref.type} ${ref.value}`);
        if (action.triggerId !== triggerId) throw badBody(`${action.name} is not for ${triggerId}`);
        if ((await writer.actionVersion.count({ where: { actionId: action.id, deployed: true } })) === 0)
          throw badBody(`${action.name} must be deployed before it is bound`);
        if (named.some((one) => one.action.id === action.id)) throw badBody(`${action.name} is given twice`);
        const id = before.find(({ actionId }) => actionId === action.id)?.id ?? randomUUID();
        named.push({ id, action, displayName: display_name ?? known?.displayName ?? action.name });
      }
      await writer.actionBinding.deleteMany({ where: { triggerId, id: { notIn: named.map(({ id }) => id) } } });
      for (const [position, { id, action, displayName }] of named.entries())
        await writer.actionBinding.upsert({
          where: { id },
          create: { id, triggerId, actionId: action.id, position, displayName },
          update: { position, displayName },
        });
    });
    parts.actions.clear();
    return ok({ bindings: await bindingsOf(parts, triggerId) });
  },
});

/** @throws ManagementProblem 404 */
function triggerNamed(id = ''): TriggerId {
  if (!isTriggerId(id)) throw missing('trigger', `Gatepost has only these triggers: ${triggerIds.join(', ')}`);
  return id;
}

async function bindingsOf({ db }: Parts, triggerId: TriggerId): Promise<object[]> {
  const bindings = await db.actionBinding.findMany({
    where: { triggerId },
    include: { action: true },
    orderBy: { position: 'asc' },
  });
  return bindings.map(presentBinding);
}

function presentBinding(binding: ActionBindingModel & { action: ActionModel }): object {
  return {
    id: binding.id,
    trigger_id: binding.triggerId,
    display_name: binding.displayName,
    action: bareAction(binding.action),
    created_at: binding.createdAt.toISOString(),
    updated_at: binding.updatedAt.toISOString(),
  };
}
