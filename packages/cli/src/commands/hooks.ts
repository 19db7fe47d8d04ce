/** Hooks of a repository or an organization. */
import type { Context, Run } from '../command.ts';
import { confirm, readInput, readSecret } from '../input.ts';
import { idOf, placeGiven, placeOf } from '../place.ts';
import { Problem, usage } from '../problem.ts';
import type { Api, Json } from '../session/api.ts';
import { standardKey } from '../sign.ts';
import { clean } from '../terminal.ts';

const hookPath = (context: Context) => `${placeOf(context).path}/hooks/${idOf(context.args.HOOK, 'HOOK')}`;

export const listHooks: Run = async (context) => {
  const { out, json, session } = context;
  const place = placeOf(context);
  const { api } = await session();
  const { items } = await api.list(`${place.path}/hooks`, 1_000);
  if (json) return out.json(items);
  if (items.length === 0) return out.note(`${place.name} has no hooks. gatepost hooks create URL makes one.`);
  out.table(
    ['ID', 'STATE', 'EVENTS', 'URL', 'LAST DELIVERY'],
    items.map((hook) => [String(hook.id), stateOf(hook), hook.events.join(','), hook.config.url, lastOf(hook)]),
  );
};

const stateOf = ({ active, disabled_reason }: Json): string => (active ? 'active' : (disabled_reason ?? 'inactive'));

function lastOf({ last_response: last }: Json): string {
  if (!last || last.code === null) return '-';
  return `${last.code} ${last.message ?? ''}`.trim();
}

export const showHook: Run = async (context) => {
  const path = hookPath(context);
  const { api } = await context.session();
  show(context, await api.call('GET', path));
};

function show({ out, json }: Context, hook: Json): void {
  if (json) {
    out.json(hook);
    return;
  }
  const rows: [string, string][] = [
    ['hook', String(hook.id)],
    ['state', stateOf(hook)],
    ['url', hook.config.url],
    ['events', hook.events.join(', ') || 'none'],
    ['content type', hook.config.content_type],
    ['secret', hook.config.secret ? 'set' : 'none: deliveries are not signed'],
    ['retries', hook.retry],
    ['headers', Object.keys(hook.request_headers ?? {}).join(', ') || 'none of its own'],
    ['last delivery', lastOf(hook)],
  ];
  if (hook.config.insecure_ssl === '1') rows.push(['certificate', 'not checked']);
  if (hook.previous_secret_until)
    rows.push([
      'secret before',
      `signs webhook-signature too until ${hook.previous_secret_until}, if it begins with whsec_`,
    ]);
  if (hook.dropped_headers) rows.push(['dropped', `${hook.dropped_headers}: they do not follow to another address`]);
  for (const [name, value] of rows) out.line(`${out.paint('bold', name.padEnd(13))}  ${clean(String(value))}`);
}

export const createHook: Run = async (context) => {
  const { args, env, flags, session } = context;
  const place = placeOf(context);
  const headers = await readHeaders(flags.text('headers-file'));
  const body = {
    name: 'web',
    active: !flags.is('inactive'),
    ...(flags.text('events') !== undefined && { events: flags.list('events') }),
    ...(flags.text('retry') && { retry: flags.text('retry') }),
    ...(headers && { request_headers: headers }),
    config: { url: args.URL, content_type: 'json', ...(await configOf(context, env.GATEPOST_WEBHOOK_SECRET)) },
  };
  const { api } = await session();
  show(context, await api.call('POST', `${place.path}/hooks`, body).catch(adviseListen));
};

function adviseListen(error: unknown): never {
  if (error instanceof Problem && /URL host \S+ is not supported/.test(error.message))
    throw new Problem('refused', error.message, 'To get deliveries on this machine: gatepost listen --forward-to URL');
  throw error;
}

/**
 * `…/config` keeps values that are not given. By GitHub's rule, updating the hook itself resets what its `config` does not name: there the
 * present values go along, so that all is changed at once or nothing. Only `…/config` takes an overlap, with its secret.
 */
export const editHook: Run = async (context) => {
  const { flags, session } = context;
  const path = hookPath(context);
  if (flags.is('active') && flags.is('inactive')) throw usage('--active or --inactive, not both');
  if (flags.is('check-ssl') && flags.is('insecure-ssl')) throw usage('--check-ssl or --insecure-ssl, not both');
  const config = await configOf(context, undefined);
  if (flags.text('url') !== undefined) config.url = flags.text('url');
  if (flags.text('overlap') !== undefined) config.previous_secret_until = overlapEnd(context);
  const headers = await readHeaders(flags.text('headers-file'));
  const rest = {
    ...(flags.text('events') !== undefined && { events: flags.list('events') }),
    ...(flags.text('add-events') !== undefined && { add_events: flags.list('add-events') }),
    ...(flags.text('remove-events') !== undefined && { remove_events: flags.list('remove-events') }),
    ...((flags.is('active') || flags.is('inactive')) && { active: flags.is('active') }),
    ...(flags.text('retry') && { retry: flags.text('retry') }),
    ...(headers && { request_headers: headers }),
  };
  const [hasConfig, hasRest] = [hasMembers(config), hasMembers(rest)];
  if (!hasConfig && !hasRest) throw usage('nothing to change', '`gatepost hooks edit --help` shows what can be.');
  const { api } = await session();
  if (!hasRest) {
    const { dropped_headers } = await api.call('PATCH', `${path}/config`, config);
    return show(context, { ...(await api.call('GET', path)), ...(dropped_headers && { dropped_headers }) });
  }
  const { secret, previous_secret_until, ...others } = config;
  const hasOverlap = previous_secret_until !== undefined;
  const together = hasOverlap ? others : config;
  const hook = await api.call('PATCH', path, {
    ...rest,
    ...(hasMembers(together) && { config: { ...(await presentConfig(api, path)), ...together } }),
  });
  if (!hasOverlap) return show(context, hook);
  await api.call('PATCH', `${path}/config`, { secret, previous_secret_until }).catch((error) => {
    if (error instanceof Problem) error.next.unshift('Everything but the secret is changed already.');
    throw error;
  });
  show(context, { ...hook, ...(await api.call('GET', path)) });
};

const hasMembers = (part: object): boolean => Object.keys(part).length > 0;

/** Without the URL, which an update keeps, while a hook is shown without its user name and password. */
async function presentConfig(api: Api, path: string): Promise<Json> {
  const { url: _, ...config } = (await api.call('GET', path)).config;
  return config;
}

function overlapEnd({ flags }: Context): string {
  const hours = Number(flags.text('overlap'));
  if (!flags.text('secret-file')) throw usage('--overlap goes with a new secret: --secret-file FILE');
  if (!Number.isInteger(hours) || hours < 1 || hours > 9_999) throw usage('--overlap: how many hours?');
  return new Date(Date.now() + hours * 3_600_000).toISOString();
}

/** `fallback`: the secret without --secret-file. */
async function configOf({ flags, out }: Context, fallback: string | undefined): Promise<Record<string, unknown>> {
  const file = flags.text('secret-file');
  const secret = file === undefined ? fallback : await readSecret(file, 'the hook’s secret');
  if (secret?.startsWith('whsec_') && !standardKey(secret))
    out.note('No webhook-signature is sent: after whsec_ the secret is not the base64 of 24 to 64 bytes.');
  return {
    ...(flags.text('content-type') && { content_type: flags.text('content-type') }),
    ...((flags.is('insecure-ssl') || flags.is('check-ssl')) && { insecure_ssl: flags.is('insecure-ssl') ? '1' : '0' }),
    ...(secret && { secret }),
  };
}

/** Lines as `Name: value`. */
async function readHeaders(file: string | undefined): Promise<Record<string, string> | undefined> {
  if (file === undefined) return undefined;
  const lines = (await readInput(file)).split(/\r?\n/).filter((line) => line.trim());
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw usage(`${file}: a line is not Name: value`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

export const deleteHook: Run = async (context) => {
  const { args, out, json, session } = context;
  const path = hookPath(context);
  await confirm(context, `Delete the hook ${args.HOOK} of ${placeOf(context).name}?`);
  const { api } = await session();
  await api.call('DELETE', path);
  if (json) out.json({ deleted: Number(args.HOOK) });
  else out.line(`Hook ${args.HOOK} is deleted; what it was sent stays in the log for as long as that is kept.`);
};

export const pingHook: Run = async (context) => {
  const { args, out, json, session } = context;
  const path = hookPath(context);
  const { api } = await session();
  const { active } = await api.call('GET', path);
  await api.call('POST', `${path}/pings`);
  if (json) return out.json({ pinged: Number(args.HOOK), active });
  if (!active) return out.note('The hook is not active: nothing is sent. gatepost hooks edit HOOK --active');
  const list = `gatepost deliveries list ${args.HOOK}${clean(placeGiven(context))}`;
  out.line(`A ping is on its way: ${list} shows its outcome.`);
};
