/** The gate administrator's daily tasks: keys, applications, people. Names are those of Auth0's Management API. */
import type { Context, Run } from '../command.ts';
import { confirm, readSecret } from '../input.ts';
import { usage } from '../problem.ts';
import type { Api, Json } from '../session/api.ts';
import { clean } from '../terminal.ts';

const manage = async ({ session }: Context): Promise<Api> => (await session()).management();
const at = (base: string, id: string | undefined) => `/${base}/${encodeURIComponent(id ?? '')}`;

/** How far the gate pages through people. */
const reachable = 1_000;

/** Shows an object as lines of name and value. */
function show({ out, json }: Context, object: Json): void {
  if (json) {
    out.json(object);
    return;
  }
  const width = Math.max(...Object.keys(object).map((name) => name.length));
  for (const [name, value] of Object.entries(object))
    out.line(
      `${out.paint('bold', clean(name).padEnd(width))}  ${clean(typeof value === 'string' ? value : JSON.stringify(value))}`,
    );
}

const report = ({ out, json }: Context, answer: Json, text: string): void => {
  if (json) out.json(answer);
  else out.line(text);
};

export const listKeys: Run = async (context) => {
  const keys: Json[] = await (await manage(context)).call('GET', '/keys/signing');
  if (context.json) return context.out.json(keys);
  const stateOf = ({ current, next, previous, revoked }: Json) =>
    [current && 'current', next && 'next', previous && 'previous', revoked && 'revoked'].filter(Boolean).join(', ') ||
    '-';
  context.out.table(
    ['KID', 'ALG', 'STATE', 'SINCE'],
    keys.map((key) => [key.kid, key.alg ?? '-', stateOf(key), key.current_since ?? '-']),
  );
};

export const rotateKeys: Run = async (context) => {
  await confirm(context, 'Have new keys sign?');
  const answer = await (await manage(context)).call('POST', '/keys/signing/rotate');
  report(
    context,
    answer,
    'The next keys are published, and sign once others have had time to read them: `gatepost keys list` says when.',
  );
};

export const revokeKey: Run = async (context) => {
  const { args } = context;
  await confirm(context, `Revoke ${args.KID}? All tokens that it has signed end.`);
  const answer = await (await manage(context)).call('PUT', `${at('keys/signing', args.KID)}/revoke`);
  report(context, answer, 'It is revoked: what it has signed is good no longer.');
};

export const listApps: Run = async (context) => {
  const api = await manage(context);
  const apps: Json[] = [];
  for (let from: string | undefined = ''; from !== undefined; ) {
    const page: Json = await api.call('GET', `/clients?take=100${from && `&from=${encodeURIComponent(from)}`}`);
    apps.push(...page.clients);
    from = page.next;
  }
  if (context.json) return context.out.json(apps);
  context.out.table(
    ['CLIENT ID', 'NAME', 'TYPE', 'FIRST PARTY', 'GRANTS'],
    apps.map((app) => [
      app.client_id,
      app.name ?? '-',
      app.app_type ?? '-',
      app.is_first_party ? 'yes' : 'no',
      (app.grant_types ?? []).join(','),
    ]),
  );
};

export const showApp: Run = async (context) =>
  show(context, await (await manage(context)).call('GET', at('clients', context.args['CLIENT-ID'])));

export const createApp: Run = async (context) => {
  const { args, flags } = context;
  const body = { name: args.NAME, app_type: flags.text('type') ?? 'regular_web', ...appChanges(context) };
  const made = await (await manage(context)).call('POST', '/clients', body);
  show(context, made);
  if (made.client_secret) context.out.note('Its secret is shown only once.');
};

export const editApp: Run = async (context) => {
  const { args, flags } = context;
  const body = { ...(flags.text('name') && { name: flags.text('name') }), ...appChanges(context) };
  if (Object.keys(body).length === 0)
    throw usage('nothing to change', '`gatepost apps edit --help` shows what can be.');
  show(context, await (await manage(context)).call('PATCH', at('clients', args['CLIENT-ID']), body));
};

function appChanges({ flags }: Context): Record<string, unknown> {
  const names = {
    callbacks: 'callbacks',
    'logout-urls': 'allowed_logout_urls',
    'web-origins': 'web_origins',
    'grant-types': 'grant_types',
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([option, name]) =>
      flags.text(option) === undefined ? [] : [[name, flags.list(option)]],
    ),
  );
}

export const deleteApp: Run = async (context) => {
  const { args } = context;
  const id = args['CLIENT-ID']!;
  await confirm(context, `Delete the application ${id}? Nobody can sign in through it any more.`);
  await (await manage(context)).call('DELETE', at('clients', id));
  report(context, { deleted: id }, `${clean(id)} is deleted.`);
};

export const rotateAppSecret: Run = async (context) => {
  const { args, out } = context;
  const id = args['CLIENT-ID']!;
  await confirm(context, `Give ${id} a new secret?`);
  const { client_id, client_secret } = await (await manage(context)).call('POST', `${at('clients', id)}/rotate-secret`);
  show(context, { client_id, client_secret });
  out.note('It is shown only once. The previous one stays valid until you rotate again.');
};

export const grantApp: Run = async (context) => {
  const { args, flags } = context;
  const scope = flags.list('scopes');
  if (scope.length === 0) throw usage('which scopes?', '--scopes SCOPE,…');
  const api = await manage(context);
  const grant = { client_id: args['CLIENT-ID'], audience: args.AUDIENCE };
  const [known]: Json[] = await api.call(
    'GET',
    `/client-grants?client_id=${encodeURIComponent(grant.client_id!)}&audience=${encodeURIComponent(grant.audience!)}`,
  );
  const answer = known
    ? await api.call('PATCH', at('client-grants', known.id), { scope })
    : await api.call('POST', '/client-grants', { ...grant, scope });
  report(
    context,
    answer,
    `${clean(grant.client_id!)} may ask for ${clean(grant.audience!)} with ${clean(scope.join(', '))}, and nothing else there.`,
  );
};

export const listUsers: Run = async (context) => {
  const { flags, out, json } = context;
  const api = await manage(context);
  const email = flags.text('email');
  const { users, total } = email
    ? { users: await api.call('GET', `/users-by-email?email=${encodeURIComponent(email)}`), total: 0 }
    : await searchUsers(api, flags.text('search'));
  if (total > users.length) out.note(`These are ${users.length} of ${total}: --search QUERY finds others.`);
  if (json) return out.json(users);
  out.table(
    ['USER ID', 'EMAIL', 'NAME', 'LAST LOGIN', 'BLOCKED'],
    users.map((user: Json) => [
      user.user_id,
      user.email ?? user.phone_number ?? '-',
      user.name ?? '-',
      user.last_login ?? 'never',
      user.blocked ? 'yes' : 'no',
    ]),
  );
};

/** As many as the gate pages through, and how many there are. */
async function searchUsers(api: Api, search: string | undefined): Promise<{ users: Json[]; total: number }> {
  const query = search ? `&search_engine=v3&q=${encodeURIComponent(search)}` : '';
  const users: Json[] = [];
  for (let page = 0; ; page += 1) {
    const found = await api.call('GET', `/users?include_totals=true&per_page=100&page=${page}${query}`);
    users.push(...found.users);
    if (users.length >= Math.min(found.total, reachable) || found.users.length === 0)
      return { users, total: found.total };
  }
}

export const showUser: Run = async (context) =>
  show(context, await (await manage(context)).call('GET', at('users', context.args['USER-ID'])));

export const createUser: Run = async (context) => {
  const { args, flags } = context;
  const file = flags.text('password-file');
  if (file === undefined) throw usage('the password is missing', '--password-file FILE; - is standard input');
  const password = await readSecret(file, 'the password');
  const body = {
    connection: flags.text('connection') ?? 'Username-Password-Authentication',
    email: args.EMAIL,
    password,
    ...(flags.text('name') && { name: flags.text('name') }),
    ...(flags.is('verified') && { email_verified: true }),
  };
  show(context, await (await manage(context)).call('POST', '/users', body));
};

const setBlocked =
  (blocked: boolean): Run =>
  async (context) => {
    const id = context.args['USER-ID']!;
    const user = await (await manage(context)).call('PATCH', at('users', id), { blocked });
    report(
      context,
      user,
      blocked ? `${clean(id)} is blocked, and signed out everywhere.` : `${clean(id)} may sign in again.`,
    );
  };
export const blockUser = setBlocked(true);
export const unblockUser = setBlocked(false);

export const unlockUser: Run = async (context) => {
  const id = context.args['USER-ID']!;
  await (await manage(context)).call('DELETE', at('user-blocks', id));
  report(context, { unlocked: id }, `Wrong passwords count for ${clean(id)} from zero again.`);
};

export const signOutUser: Run = async (context) => {
  const id = context.args['USER-ID']!;
  await (await manage(context)).call('POST', `${at('users', id)}/revoke-access`);
  report(context, { signed_out: id }, `${clean(id)} is signed out everywhere.`);
};

export const deleteUser: Run = async (context) => {
  const { args } = context;
  const id = args['USER-ID']!;
  await confirm(context, `Delete the account ${id}?`);
  await (await manage(context)).call('DELETE', at('users', id));
  report(context, { deleted: id }, `${clean(id)} is deleted.`);
};
