/** An administrator's queries and actions at the webhook API. */
import type { Context, Run } from '../command.ts';
import { confirm } from '../input.ts';
import { idOf } from '../place.ts';
import { usage } from '../problem.ts';
import { type Json, openApi } from '../session/api.ts';
import { checkTransport } from '../session/request.ts';
import { clean } from '../terminal.ts';

const account = (login: string | undefined) => `/accounts/${encodeURIComponent(login ?? '')}`;
const organization = (login: string | undefined) => `/admin/organizations/${encodeURIComponent(login ?? '')}`;

/** Descriptions of why deliveries wait. */
const reasons: Record<string, string> = {
  limit: 'for its turn within the account’s limit',
  retry: 'for the next attempt after a failure',
  busy: 'for a receiver that is busy',
  paused: 'since it is paused',
  handed_over: 'on its way: RabbitMQ or a dispatcher has it',
};
const reasonOf = (reason: string) => reasons[reason] ?? reason;

export const status: Run = async ({ session, out, json }) => {
  const { api } = await session();
  const found = await api.call('GET', '/admin/status');
  if (json) return out.json(found);
  const { queues, waiting, organizations, paused } = found as Record<string, Json>;
  out.table(
    ['QUEUE', 'MESSAGES'],
    queues.map((queue: Json) => [queue.name, String(queue.messages ?? 'RabbitMQ is away')]),
  );
  out.line();
  if (waiting.length === 0) out.line(out.paint('green', 'No delivery waits.'));
  else {
    out.table(
      ['WAITING', 'WHY', 'SINCE', 'NEXT'],
      waiting.map((row: Json) => [String(row.deliveries), reasonOf(row.reason), row.since ?? '-', row.next_at ?? '-']),
    );
    out.line();
    out.table(
      ['ORGANIZATION', 'WAITING', 'WHY', 'SINCE'],
      organizations.map((row: Json) => [
        row.login ?? '-',
        String(row.deliveries),
        reasonOf(row.reason),
        row.since ?? '-',
      ]),
    );
  }
  const rests = [
    ...paused.organizations.map((row: Json) => [row.login, row.since]),
    ...paused.hooks.map((row: Json) => [`hook ${row.id} of ${row.organization}`, row.since]),
  ];
  if (rests.length === 0) return;
  out.line();
  out.table(['PAUSED', 'SINCE'], rests);
};

export const waiting: Run = async ({ args, flags, session, out, json }) => {
  const { api } = await session();
  const most = flags.is('all') ? 100_000 : 100;
  const { items, isMore } = await api.list(`${account(args.LOGIN)}/waiting`, most);
  if (json) return out.json(items);
  if (items.length === 0) return out.line(`Nothing of ${args.LOGIN} waits.`);
  out.table(
    ['DELIVERY', 'HOOK', 'EVENT', 'TRY', 'WAITS', 'UNTIL', 'GUID'],
    items.map((row) =>
      [row.id, row.hook_id, row.event, row.attempt, reasonOf(row.reason), row.due_at ?? 'its turn', row.guid].map(
        (cell) => String(cell ?? '-'),
      ),
    ),
  );
  if (isMore)
    out.note(flags.is('all') ? `There are more than these ${items.length}.` : 'There are more: --all shows them.');
};

export const find: Run = async ({ args, session, out, json }) => {
  const { api } = await session();
  const found = await api.call('GET', `/admin/events/${encodeURIComponent(args.GUID ?? '')}`);
  if (json) return out.json(found);
  const part = (title: string, rows: Json[], head: string[], names: string[]) => {
    if (rows.length === 0) return;
    out.line(out.paint('bold', `${title}: ${rows.length}`));
    out.table(
      head,
      rows.map((row) => names.map((name) => String(row[name] ?? '-'))),
    );
    out.line();
  };
  part(
    'Events',
    found.events,
    ['WHERE', 'REPOSITORY', 'EVENT', 'OCCURRED', 'UNMATCHED', 'SOURCE'],
    ['organization', 'repository', 'event', 'occurred_at', 'unmatched', 'source'],
  );
  part(
    'Deliveries',
    found.deliveries,
    ['ID', 'HOOK', 'TRY', 'WHEN', 'STATUS', 'CODE'],
    ['id', 'hook_id', 'attempt', 'delivered_at', 'status', 'status_code'],
  );
  part(
    'Waiting',
    found.waiting.map((row: Json) => ({ ...row, why: reasonOf(row.reason) })),
    ['ID', 'HOOK', 'TRY', 'WAITS', 'UNTIL'],
    ['id', 'hook_id', 'attempt', 'why', 'due_at'],
  );
  part('Dead letters', found.dead_letters, ['ID', 'REASON', 'DETAIL'], ['id', 'reason', 'detail']);
};

export const pause: Run = (context) => setPaused(context, 'PUT');
export const resume: Run = (context) => setPaused(context, 'DELETE');

async function setPaused({ args, flags, session, out, json }: Context, method: 'PUT' | 'DELETE'): Promise<void> {
  const [login, hook] = [args.LOGIN, flags.text('hook')];
  if ((login === undefined) === (hook === undefined))
    throw usage('an organization, or a hook?', 'LOGIN or --hook HOOK');
  const { api } = await session();
  const path = hook === undefined ? organization(login) : `/admin/hooks/${idOf(hook, '--hook')}`;
  const answer = await api.call(method, `${path}/pause`);
  if (json) return out.json(answer);
  const what = hook === undefined ? clean(login!) : `Hook ${hook}`;
  if (method === 'PUT') out.line(`${what} is paused: nothing is delivered, and nothing lost.`);
  else out.line(`${what} goes on; ${answer?.deliveries ?? 0} deliveries that waited go out in their order.`);
}

export const getThrottle: Run = async ({ args, session, out, json }) => {
  const { api } = await session();
  showThrottle({ out, json }, args.LOGIN!, await api.call('GET', `${account(args.LOGIN)}/throttle`));
};

function showThrottle({ out, json }: Pick<Context, 'out' | 'json'>, login: string, limit: Json): void {
  if (json) out.json(limit);
  else out.line(`${clean(login)}: ${limit.rate} deliveries per second, in bursts of up to ${limit.burst}`);
}

export const setThrottle: Run = async ({ args, session, out, json }) => {
  const [rate, burst] = [args.RATE, args.BURST].map(Number);
  if (!(rate! > 0) || !(burst! > 0)) throw usage('RATE and BURST are numbers above zero');
  const { api } = await session();
  showThrottle({ out, json }, args.LOGIN!, await api.call('PUT', `${account(args.LOGIN)}/throttle`, { rate, burst }));
};

export const resetThrottle: Run = async ({ args, session, out, json }) => {
  const { api } = await session();
  await api.call('DELETE', `${account(args.LOGIN)}/throttle`);
  showThrottle({ out, json }, args.LOGIN!, await api.call('GET', `${account(args.LOGIN)}/throttle`));
};

export const listOrganizations: Run = async ({ session, out, json }) => {
  const { api } = await session();
  const { items } = await api.list('/admin/organizations', 100_000);
  if (json) return out.json(items);
  out.table(
    ['ID', 'LOGIN', 'REPOSITORIES', 'HOOKS', 'MEMBERS', 'PAUSED SINCE'],
    items.map((row) => [row.id, row.login, row.repositories, row.hooks, row.members, row.paused_at ?? '-'].map(String)),
  );
};

export const createOrganization: Run = async ({ args, flags, session, out, json }) => {
  const { api } = await session();
  const admin = flags.text('admin');
  const made = await api.call('POST', '/admin/organizations', {
    login: args.LOGIN,
    ...(admin !== undefined && { admin }),
  });
  if (json) out.json(made);
  else out.line(`${clean(made.login)} is created${admin === undefined ? '' : `; ${clean(admin)} administers it`}.`);
};

export const deleteOrganization: Run = async (context) => {
  const { args, flags, session, out, json } = context;
  const { api } = await session();
  const path = organization(args.LOGIN);
  const would = await api.call('DELETE', `${path}?dry_run=true`);
  if (flags.is('dry-run')) {
    if (json) out.json(would);
    else
      out.line(
        `${clean(args.LOGIN!)} has ${would.repositories} repositories, ${would.hooks} hooks, ${would.members} members and ${would.waiting} waiting deliveries; ${would.deliveries} deliveries in the log are of it. Nothing is deleted.`,
      );
    return;
  }
  await confirm(
    context,
    `Delete ${args.LOGIN} with ${would.repositories} repositories, ${would.hooks} hooks and all that waits?`,
  );
  const gone = await api.call('DELETE', path);
  if (json) out.json(gone);
  else out.line(`${clean(args.LOGIN!)} is deleted; its events and log follow within the hour.`);
};

/** Asks the gate first, which tells at once if this machine is not allowed to. */
export const reseal: Run = async ({ session, out, json }) => {
  const { api, management } = await session();
  await management().call('POST', '/keys/encryption/rekey');
  let resealed = 0;
  const unreadable: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const part: Json = await api.call('POST', '/admin/secrets/reseal', { after });
    resealed += part.resealed;
    unreadable.push(...part.unreadable);
    after = part.next;
  }
  if (json) return out.json({ resealed, unreadable });
  const but = unreadable.length > 0 ? `; neither key opens those of the hooks ${unreadable.join(', ')}` : '';
  out.line(
    `Sealed under SECRETS_KEY: the secrets of ${resealed} hooks that were not, and all that the gate keeps${but}`,
  );
};

/** Talks to a process's port, which may have a token of its own. */
export const logLevel: Run = async ({ args, rest, env, out, signal }) => {
  const url = args['OPS-URL']!;
  checkTransport(url, env);
  const again = 'The ops port has a token of its own: put it into GATEPOST_OPS_TOKEN.';
  const api = openApi(url.replace(/\/+$/, ''), async () => env.GATEPOST_OPS_TOKEN ?? 'none', signal, again);
  const [level, module] = rest.toReversed();
  if (rest.length > 2) throw usage(`\`log-level\` does not take ${rest.slice(2).join(' ')}`);
  const body = { ...(module !== undefined && { module }), level };
  out.json(level === undefined ? await api.call('GET', '/log-level') : await api.call('PUT', '/log-level', body));
};
