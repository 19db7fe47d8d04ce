/** Made-up events, for developers of receivers. */
import type { Context, Run } from '../command.ts';
import { readInput, readSecret } from '../input.ts';
import { idOf, type Place, placeOf } from '../place.ts';
import { Problem, usage } from '../problem.ts';
import { type SampleEvent, sampleEvents } from '../samples/events.ts';
import { type Where, whereOf } from '../samples/place.ts';
import { makeSample } from '../samples/samples.ts';
import { setValue } from '../samples/set.ts';
import type { Api, Json } from '../session/api.ts';
import { clean, toJson } from '../terminal.ts';

export const trigger: Run = async (context) => {
  const { args, flags, out, json, session, env } = context;
  const event = args.EVENT!;
  const place = placeOf(context);
  const given = await readPayload(context);
  const { api } = await session();
  const payload = given ?? makeSample(event as SampleEvent, await look(api, place));
  for (const assignment of flags.all('set')) setValue(payload, assignment);
  if (flags.is('print')) return out.line(toJson(payload, 2));

  const hooks = await findHooks(context, api, place, event);
  const file = flags.text('secret-file');
  const secret = file === undefined ? env.GATEPOST_WEBHOOK_SECRET : await readSecret(file, 'the hook’s secret');
  // What was sent already must be known when a hook fails: sent again, it would be another event.
  const sent: { hook: number; delivery: number; guid: string }[] = [];
  const refused: { hook: number; problem: Problem }[] = [];
  for (const hook of hooks) {
    // One hook's secret must not be sent in a request for another.
    const body = { event, payload, ...(hook.config.secret && secret !== undefined && { secret }) };
    try {
      const { id, guid } = await api.call('POST', `${place.path}/hooks/${hook.id}/triggers`, body);
      sent.push({ hook: hook.id, delivery: id, guid });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refused.push({ hook: hook.id, problem: nameHook(hook, error) });
      if (error.exit !== 'refused' && error.exit !== 'notFound') break; // the others would fare no better
    }
  }
  if (refused[0] && sent.length === 0) throw refused[0].problem;
  if (json) out.json([...sent, ...refused.map(({ hook, problem }) => ({ hook, error: problem.message }))]);
  else
    out.table(
      ['HOOK', 'DELIVERY', 'GUID'],
      sent.map((each) => [each.hook, each.delivery, each.guid].map(String)),
    );
  for (const { problem } of refused) out.note(clean(problem.message));
  if (!refused[0]) return;
  const left = hooks.filter(({ id }) => !sent.some(({ hook }) => hook === id));
  throw new Problem(
    'failed',
    `${left.length} of ${hooks.length} hooks are not known to get it`,
    ...refused[0].problem.next,
    `Only these, one at a time: ${left.map(({ id }) => `--hook ${id}`).join(', ')}`,
  );
};

async function readPayload({ args, flags }: Context): Promise<Json | undefined> {
  const file = flags.text('payload');
  if (file === undefined) {
    if ((sampleEvents as readonly string[]).includes(args.EVENT!)) return undefined;
    throw usage(
      `there is no sample of ${args.EVENT}`,
      `--payload FILE sends one of your own; there are samples of ${sampleEvents.join(', ')}`,
    );
  }
  try {
    const payload: unknown = JSON.parse(await readInput(file));
    if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) return payload;
  } catch (error) {
    if (error instanceof Problem) throw error;
  }
  throw usage(`${file} is no JSON object`);
}

/** The place as known to the API, so that ids and URLs in the payload match those of real deliveries. */
async function look(api: Api, { owner, repository, path }: Place): Promise<Where> {
  if (repository === undefined)
    throw usage(
      'samples happen in a repository: --repo OWNER/NAME',
      '--payload FILE sends an organization’s hooks an event of your own.',
    );
  const [known, organization, person] = await Promise.all([
    api.call('GET', path),
    api.call('GET', `/orgs/${encodeURIComponent(owner)}`),
    api.call('GET', '/user'),
  ]);
  return whereOf(known, organization, person, new Date());
}

async function findHooks({ flags }: Context, api: Api, place: Place, event: string): Promise<Json[]> {
  const one = flags.text('hook');
  if (one !== undefined) return [await api.call('GET', `${place.path}/hooks/${idOf(one, '--hook')}`)];
  const { items } = await api.list(`${place.path}/hooks`, 1_000);
  const taking = items.filter(({ active, events }) => active && (events.includes(event) || events.includes('*')));
  if (taking.length > 0) return taking;
  throw new Problem(
    'failed',
    `no active hook of ${place.name} takes ${event}`,
    `gatepost listen --events ${event} --forward-to URL brings them to this machine, gatepost hooks create URL --events ${event} anywhere else`,
  );
}

function nameHook({ id, config }: Json, { exit, message, next }: Problem): Problem {
  const secret = 'Give its secret: --secret-file FILE or GATEPOST_WEBHOOK_SECRET; or choose another hook: --hook HOOK';
  return new Problem(exit, `hook ${id}: ${message}`, ...(exit === 'refused' && config.secret ? [secret] : next));
}
