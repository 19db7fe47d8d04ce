/** Deliveries on this machine: a hook that lives as long as this command, and passes its deliveries to a local receiver. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Run } from '../command.ts';
import { readSecret } from '../input.ts';
import {
  type Delivery,
  eventOf,
  guidOf,
  openRecordings,
  payloadOf,
  readRecorded,
  record,
  signAnew,
} from '../listen/delivery.ts';
import { makeFilter } from '../listen/filter.ts';
import { forward, type Outcome } from '../listen/forward.ts';
import { type End, holdSocket } from '../listen/socket.ts';
import { placeOf } from '../place.ts';
import { Problem, usage } from '../problem.ts';
import { parseUrl } from '../session/request.ts';
import { clean, toJson } from '../terminal.ts';

export const listen: Run = async (context) => {
  const { flags } = context;
  const take = makeTake(context);
  if (flags.all('replay').length > 0) return replay(context, take);
  await stayListening(context, take);
};

type Take = (delivery: Delivery) => Promise<Outcome>;

function makeTake(context: Context): Take {
  const { flags, out, signal } = context;
  const target = flags.text('forward-to');
  const url = target === undefined ? undefined : parseUrl(target);
  if (url && !['http:', 'https:'].includes(url.protocol)) throw usage('--forward-to is an http or https URL');
  const isWanted = makeFilter(flags.all('filter'));
  const folder = flags.text('record');
  if (folder !== undefined) openRecordings(folder);
  return async (delivery) => {
    const at = new Date();
    if (folder !== undefined && delivery.id !== '') {
      try {
        const file = record(folder, delivery, at);
        if (flags.is('verbose')) out.note(`recorded ${file}`);
      } catch (error) {
        out.note(`not recorded: ${clean((error as Error).message)}`);
      }
    }
    const isMeant = isWanted(delivery);
    const outcome = url && isMeant ? await forward(url, delivery, signal) : taken;
    signal.throwIfAborted(); // then the receiver is not waited for, and nothing follows
    show(context, delivery, at, outcome, isMeant);
    return outcome;
  };
}

/** The logged outcome of a delivery that was not passed on. */
const taken: Outcome = {
  status: 200,
  headers: { 'Content-Type': ['text/plain'] },
  body: Buffer.from('seen by gatepost listen'),
  ms: 0,
};

function show({ out, json, flags }: Context, delivery: Delivery, at: Date, outcome: Outcome, isMeant: boolean): void {
  const payload = payloadOf(delivery);
  const action = typeof payload?.action === 'string' ? payload.action : null;
  const [event, guid] = [eventOf(delivery), guidOf(delivery)];
  const result = 'error' in outcome ? { error: outcome.error } : { status: outcome.status };
  if (json) {
    out.line(toJson({ at: at.toISOString(), event, action, guid, filtered: !isMeant, ...result, ms: outcome.ms }));
    return;
  }
  const isGood = 'status' in outcome && outcome.status >= 200 && outcome.status < 300;
  const verdict = 'error' in outcome ? clean(outcome.error) : String(outcome.status);
  const answer = isMeant ? out.paint(isGood ? 'green' : 'red', verdict) : out.paint('dim', 'filtered out');
  const name = clean(action === null ? event : `${event}.${action}`);
  out.line(`${at.toISOString().slice(11, 23)}  ${name.padEnd(24)}  ${clean(guid)}  ${answer}  ${outcome.ms} ms`);
  if (flags.is('verbose') && payload !== undefined) out.line(toJson(payload, 2));
}

/** Replays recorded deliveries without a server; exits with 1 if one was not accepted. */
async function replay(context: Context, take: Take): Promise<void> {
  const { flags } = context;
  if (flags.text('forward-to') === undefined) throw usage('--replay goes with --forward-to URL');
  const secret = await secretOf(context);
  const deliveries = await Promise.all(flags.all('replay').map(readRecorded));
  let failed = 0;
  for (const recorded of deliveries) {
    const outcome = await take(secret ? signAnew(recorded, secret) : recorded);
    if ('error' in outcome || outcome.status < 200 || outcome.status >= 300) failed += 1;
  }
  if (failed > 0) throw new Problem('failed', `${failed} of ${deliveries.length} not taken`);
}

async function stayListening(context: Context, take: Take): Promise<void> {
  const { flags, out, session, signal, json } = context;
  const place = placeOf(context);
  const current = await session();
  const body = await hookOf(context);
  const make = async (): Promise<string> => {
    const { id } = await current.api.call('POST', `${place.path}/hooks`, body);
    return `${place.path}/hooks/${id}`;
  };
  let path = await make();
  let waitMs = 500;
  const onOpen = () => {
    waitMs = 500;
    const where = flags.text('forward-to');
    if (!json)
      out.note(
        `Listening to ${clean(place.name)} for ${clean(body.events.join(', '))}${where ? `, forwarding to ${clean(where)}` : ''}; Ctrl-C ends it.`,
      );
  };
  for (;;) {
    const end: End = await holdSocket(current, path, signal, onOpen, take);
    if (end.kind === 'over') throw end.problem;
    out.note(`${clean(end.why)}; connecting again`);
    await sleep(Math.max(waitMs, end.waitMs ?? 0), undefined, { signal });
    waitMs = Math.min(waitMs * 2, 10_000);
    if (end.kind === 'anew') path = await retried(make, path);
  }
}

/** A restart of the API must not end the listening. */
async function retried(make: () => Promise<string>, before: string): Promise<string> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Problem && error.exit === 'unreachable') return before;
    throw error;
  }
}

async function secretOf({ flags, env }: Context): Promise<string | undefined> {
  const file = flags.text('secret-file');
  return file === undefined ? env.GATEPOST_WEBHOOK_SECRET : readSecret(file, 'the secret');
}

async function hookOf(context: Context) {
  const { flags } = context;
  const secret = await secretOf(context);
  const events = flags.list('events');
  return {
    name: 'cli',
    events: events.length > 0 ? events : ['*'],
    config: { content_type: flags.text('content-type') ?? 'json', ...(secret && { secret }) },
  };
}
