/** Runs a trigger's actions one after the other, each seeing the changes of those before it, and reports failures. */
import { randomUUID } from 'node:crypto';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Audit } from '../audit.ts';
import type { ExecutionStore } from './executions.ts';
import type { ActionMetrics } from './metrics.ts';
import { addCommands, changedMetadata, noOutcome, type Outcome, OutcomeTooLarge } from './outcome.ts';
import type { ActionPool } from './pool.ts';
import { failed, type RunResult } from './run-result.ts';
import type { ActionStore, BoundAction } from './store.ts';
import { continueHandler, handlerOf, type TriggerId } from './triggers.ts';
import { withoutSecrets } from './worker/mask.ts';
import type { Call } from './worker/messages.ts';

/** The client and person concerned, for the log. */
export type ActionContext = { clientId?: string | undefined; userId?: string | undefined; ip?: string | undefined };

export type ActionRunner = {
  /** Whether any action would run; cached, so it takes no statement and no process while nothing changes. */
  isBound(trigger: TriggerId): Promise<boolean>;
  /**
   * @param makeEvent called only if an action runs
   * @returns undefined if nothing is bound
   * @throws ActionFailed if an action failed and `ACTIONS_ON_FAULT` is `closed`
   */
  run(
    trigger: TriggerId,
    about: ActionContext,
    makeEvent: () => Promise<object>,
    way?: RunOptions,
  ): Promise<Result | undefined>;
};

export type RunOptions = {
  /** There is a browser that an action may send elsewhere. */
  canRedirect?: boolean;
  /** The person returns from elsewhere. @property request what they bring, in the form of `event.request` */
  from?: Paused & { request: object };
};

/** An action has sent the person elsewhere; it and those before it do not run again. */
export type Paused = { action: string; ran: string[]; outcome: Outcome };

export type Result = { outcome: Outcome; paused?: Paused & { url: string } };

/** An action failed, and nobody gets past it. The cause is in the log. */
export class ActionFailed extends Error {
  override name = 'ActionFailed';
}

/** An action wants to send somebody elsewhere, but there is no browser. */
export class RedirectImpossible extends ActionFailed {
  override name = 'RedirectImpossible';
}

export type RunnerParts = {
  actions: ActionStore;
  pool: ActionPool;
  executions: ExecutionStore;
  audit: Pick<Audit, 'add'>;
  log: Log;
  onFault: 'closed' | 'open';
  metrics: ActionMetrics;
};

export function makeActionRunner(parts: RunnerParts): ActionRunner {
  const { actions, onFault } = parts;
  return {
    isBound: async (trigger) => (await actions.at(trigger)).length > 0,
    async run(trigger, about, makeEvent, { canRedirect = false, from } = {}) {
      const bound = await actions.at(trigger);
      if (bound.length === 0 && !from) return undefined;
      const event = await makeEvent();
      const ran = from ? [...from.ran] : [];
      let outcome = from?.outcome ?? noOutcome();
      for (const { action, handler } of stepsOf(bound, trigger, from)) {
        const begun = new Date();
        if (!from || handler !== continueHandler) ran.push(action.id);
        const seen = handler === continueHandler ? continued(event, from!.request) : event;
        const call = { trigger, handler, event: eventAfter(seen, outcome), canRedirect };
        const step = await runOne(parts, action, call, outcome);
        if ('ran' in step) {
          await reportFault(parts, { trigger, action, about, begun, ...step.ran });
          if (onFault === 'closed') throw new ActionFailed(`${trigger}: ${action.name}`);
          continue;
        }
        const { redirect, ...after } = step;
        outcome = after;
        if (outcome.denied) {
          await reportDenial(parts, { trigger, action, about, begun, reason: outcome.denied.whole });
          break;
        }
        if (!redirect) continue;
        if (!canRedirect) throw new RedirectImpossible(`${trigger}: ${action.name}`);
        return { outcome, paused: { action: action.id, ran, outcome, url: redirect.url } };
      }
      return { outcome };
    },
  };
}

type Step = { action: BoundAction; handler: string };

/** The steps to run, in order. @throws ActionFailed when the action that the person returns to is gone: it might have refused them */
function stepsOf(bound: readonly BoundAction[], trigger: TriggerId, from: Paused | undefined): Step[] {
  const handler = handlerOf(trigger);
  if (!from) return bound.map((action) => ({ action, handler }));
  const back = bound.find(({ id }) => id === from.action);
  if (!back) throw new ActionFailed(`${trigger}: the action is not bound any more`);
  const rest = bound.filter(({ id }) => !from.ran.includes(id));
  return [{ action: back, handler: continueHandler }, ...rest.map((action) => ({ action, handler }))];
}

const continued = (event: object, request: object) => ({
  ...event,
  request: { ...(event as { request?: object }).request, ...request },
});

type Fault = Extract<RunResult, { kind: 'failed' }>;

async function runOne(
  { pool, metrics }: RunnerParts,
  action: BoundAction,
  call: Call & { trigger: TriggerId },
  outcome: Outcome,
): Promise<Outcome | { ran: Fault }> {
  const { trigger } = call;
  const end = metrics.duration.startTimer({ trigger });
  let ran = await pool.run(action, call);
  let after = outcome;
  if (ran.kind === 'done')
    try {
      after = addCommands(outcome, ran.commands);
    } catch (error) {
      // It may be any JSON: nested without end, or with a `toString` that is no function.
      ran = failed('too_large', error instanceof OutcomeTooLarge ? error.message : 'what it asked for makes no sense');
    }
  end();
  metrics.runs.inc({ trigger, result: ran.kind === 'done' ? 'done' : ran.reason });
  return ran.kind === 'done' ? after : { ran };
}

/** The next action sees the pending changes: metadata as it will be. */
function eventAfter(event: object, outcome: Outcome): object {
  const { user, transaction } = event as { user?: Record<string, object>; transaction?: object };
  const { userMetadata, appMetadata } = outcome;
  return {
    ...event,
    ...(user && {
      user: {
        ...user,
        user_metadata: changedMetadata(user.user_metadata, userMetadata),
        app_metadata: changedMetadata(user.app_metadata, appMetadata),
      },
    }),
    ...(transaction && { transaction: { ...transaction, metadata: outcome.transaction } }),
  };
}

type ExecutedAction = { trigger: TriggerId; action: BoundAction; about: ActionContext; begun: Date };

/** Reports to the audit log, as at Auth0, and to the operator. */
async function reportFault(parts: RunnerParts, happened: ExecutedAction & Fault): Promise<void> {
  const { trigger, action, about, reason } = happened;
  const description = withoutSecrets(happened.message, action.secrets).slice(0, 300);
  const execution = await keepExecution(parts, happened, description);
  const details = { description, reason, trigger, action: action.name, on_fault: parts.onFault };
  parts.audit.add({
    type: 'actions_execution_failed',
    ...about,
    details: { ...details, actions: { executions: [execution] } },
  });
  parts.log.warn({ 'client.id': about.clientId, action: action.name, trigger, reason }, 'an action failed');
}

/** Reports which action refused somebody, under the log type of what they attempted. */
async function reportDenial(parts: RunnerParts, happened: ExecutedAction & { reason: string }): Promise<void> {
  const { trigger, action, about } = happened;
  const description = withoutSecrets(happened.reason, action.secrets).slice(0, 300);
  const execution = await keepExecution(parts, happened, description);
  const details = { error: 'access_denied', reason: 'denied_by_action', description, trigger, action: action.name };
  const type = trigger === 'post-login' ? 'f' : trigger === 'credentials-exchange' ? 'feccft' : 'fs';
  parts.audit.add({ type, ...about, details: { ...details, actions: { executions: [execution] } } });
  parts.log.info({ 'client.id': about.clientId, action: action.name, trigger }, 'an action refused access');
}

/** If the record cannot be stored, it is in the log all the same. @returns its id */
async function keepExecution({ executions, log }: RunnerParts, happened: ExecutedAction, msg: string): Promise<string> {
  const id = randomUUID();
  const [from, to] = [happened.begun.toISOString(), new Date().toISOString()];
  const results = [{ action_name: happened.action.name, error: { msg }, started_at: from, ended_at: to }];
  try {
    await executions.save({
      id,
      trigger_id: happened.trigger,
      status: 'final',
      results,
      created_at: from,
      updated_at: to,
    });
  } catch (error) {
    log.warn({ error: describeError(error) }, 'the record of an action’s run could not be kept');
  }
  return id;
}
