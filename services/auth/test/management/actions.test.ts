/** Actions through the `auth0` package, unmodified, and in the requests that auth0-deploy-cli makes for them. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, clientOf, ask } = stack.use(await openManagement());
const supported_triggers = [{ id: 'post-login' as const, version: 'v3' }];
const code = 'exports.onExecutePostLogin = async (event, api) => { api.idToken.setCustomClaim("a", 1); };';

/** What PostgreSQL holds of it, as text. */
async function stored(table: string): Promise<string> {
  const { rows } = await gate.pool.query(`SELECT *, encode(secrets, 'escape') AS bytes FROM auth.${table}`);
  return JSON.stringify(rows);
}

test('an action is created, deployed, bound, changed, deployed again, and deleted', async () => {
  const action = await auth0.actions.create({ name: 'Add a claim', supported_triggers, code, runtime: 'node22' });
  expect(action).toMatchObject({
    name: 'Add a claim',
    supported_triggers,
    code,
    status: 'built',
    all_changes_deployed: false,
  });
  const id = action.id!;
  await expect(auth0.actions.create({ name: 'Add a claim', supported_triggers })).rejects.toEqual(refusal(409));
  expect((await auth0.actions.get(id)).name).toBe('Add a claim');
  const bind = () =>
    auth0.actions.triggers.bindings.updateMany('post-login', {
      bindings: [{ ref: { type: 'action_name', value: 'Add a claim' }, display_name: 'First' }],
    });
  await expect(bind()).rejects.toEqual(refusal(400));

  const version = await auth0.actions.deploy(id);
  expect(version).toMatchObject({ action_id: id, number: 1, deployed: true, code });
  expect(await auth0.actions.get(id)).toMatchObject({ all_changes_deployed: true, deployed_version: { number: 1 } });
  const { bindings } = await bind();
  expect(bindings).toMatchObject([{ trigger_id: 'post-login', display_name: 'First', action: { id } }]);
  const listed = await auth0.actions.triggers.bindings.list('post-login');
  expect(listed.data).toMatchObject([{ display_name: 'First' }]);

  await auth0.actions.update(id, { code: `${code}//` });
  expect(await auth0.actions.get(id)).toMatchObject({ all_changes_deployed: false, deployed_version: { code } });
  await auth0.actions.deploy(id);
  const versions = await auth0.actions.versions.list(id);
  expect(versions.data.map(({ number, deployed }) => [number, deployed])).toEqual([
    [2, true],
    [1, false],
  ]);
  const again = await auth0.actions.versions.deploy(id, version.id!, { update_draft: true });
  expect(again).toMatchObject({ number: 3, code, deployed: true });
  expect(await auth0.actions.get(id)).toMatchObject({ code, all_changes_deployed: true });

  await expect(auth0.actions.delete(id)).rejects.toEqual(refusal(409));
  await auth0.actions.delete(id, { force: true });
  await expect(auth0.actions.get(id)).rejects.toEqual(refusal(404, 'inexistent_action'));
  expect((await auth0.actions.triggers.bindings.list('post-login')).data).toEqual([]);
});

test('secrets of an action are named but never shown, and one sent without a value keeps its value', async () => {
  const made = await auth0.actions.create({
    name: 'Has secrets',
    supported_triggers,
    code: 'exports.onExecutePostLogin = async (event, api) => { console.log(event.secrets); throw new Error(event.secrets.B); };',
    secrets: [
      { name: 'A', value: 'value of the first' },
      { name: 'B', value: 'value of the second' },
    ],
  });
  const id = made.id!;
  expect(made.secrets).toEqual([
    { name: 'A', updated_at: expect.any(String) },
    { name: 'B', updated_at: expect.any(String) },
  ]);
  await auth0.actions.deploy(id);
  await auth0.actions.update(id, { secrets: [{ name: 'A', value: 'another first' }, { name: 'B' }] });
  await expect(auth0.actions.update(id, { secrets: [{ name: 'C' }] })).rejects.toEqual(refusal(400));
  const answers = [
    (await ask('GET', `actions/actions/${id}`)).body,
    (await ask('GET', `actions/actions/${id}/versions`)).body,
    (await ask('GET', 'actions/actions')).body,
    (await ask('POST', `actions/actions/${id}/test`, { payload: { event: {} } })).body,
    (await ask('GET', 'logs?per_page=100')).body,
    await stored('actions'),
    await stored('action_versions'),
  ];
  expect(JSON.stringify(answers)).not.toMatch(/value of the|another first/);
  expect(answers[3]).toMatchObject({
    payload: { error: { reason: 'threw', message: 'Error: ***' }, logs: [expect.stringContaining("A: '***'")] },
  });
  await auth0.actions.delete(id);
});

test('a draft is tested with an event from the caller, without any effect', async () => {
  const { id = '' } = await auth0.actions.create({
    name: 'Tried out',
    supported_triggers,
    code: 'exports.onExecutePostLogin = async (event, api) => { console.log("hello", event.user.email); api.accessToken.setCustomClaim("mail", event.user.email); };',
  });
  const { payload } = await auth0.actions.test(id, { payload: { event: { user: { email: 'x@example.com' } } } });
  expect(payload).toEqual({
    commands: [{ name: 'accessToken.setCustomClaim', args: ['mail', 'x@example.com'] }],
    logs: ['hello x@example.com'],
  });
  await auth0.actions.delete(id);
});

test('the list of triggers matches the triggers that exist', async () => {
  const { triggers } = await auth0.actions.triggers.list();
  expect(triggers!.map(({ id }) => id)).toEqual([
    'post-login',
    'credentials-exchange',
    'pre-user-registration',
    'post-user-registration',
    'post-change-password',
  ]);
  expect((await ask('GET', 'actions/triggers/send-phone-message/bindings')).status).toBe(404);
  expect((await ask('GET', 'actions/executions/none')).body).toMatchObject({ errorCode: 'inexistent_execution' });
});

describe('an action is refused if it has', () => {
  test.each([
    ['an unsupported trigger', { supported_triggers: [{ id: 'send-phone-message', version: 'v2' }] }, 'post-login'],
    ['two triggers', { supported_triggers: [{ id: 'post-login' }, { id: 'credentials-exchange' }] }, 'one trigger'],
    ['an npm package', { dependencies: [{ name: 'axios', version: '1.0.0' }] }, 'bundle axios into the code'],
    [
      'a secret twice',
      {
        secrets: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      'same name',
    ],
    ['an unknown field', { colour: 1 }, 'colour'],
    ['an empty name', { name: ' ' }, 'name'],
  ])('%s', async (_what, body, said) => {
    const { status, body: answer } = await ask('POST', 'actions/actions', {
      name: 'x',
      supported_triggers,
      code,
      ...body,
    });
    expect([status, answer]).toEqual([400, expect.objectContaining({ message: expect.stringContaining(said) })]);
  });

  test('an action whose code cannot be parsed is not deployed', async () => {
    const { body } = await ask('POST', 'actions/actions', { name: 'Broken', supported_triggers, code: 'const x = ;' });
    expect(body).toMatchObject({ status: 'failed' });
    expect(await ask('POST', `actions/actions/${body.id}/deploy`, {})).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('SyntaxError') },
    });
    await auth0.actions.delete(body.id);
  });

  test('a client with read access only cannot write actions', async () => {
    const reader = clientOf('reader');
    expect((await reader.actions.list()).data).toEqual([]);
    await expect(reader.actions.create({ name: 'x', supported_triggers })).rejects.toEqual(refusal(403));
    await expect(reader.actions.triggers.bindings.updateMany('post-login', { bindings: [] })).rejects.toEqual(
      refusal(403),
    );
  });
});

// Written after auth0-deploy-cli’s handlers of actions and triggers, not recorded from a run of it: an import of two actions and the order in
// which they run, and a second import of the same.
test('an import as auth0-deploy-cli does it writes actions and their order, and reads them back', async () => {
  const given = (name: string) => ({
    name,
    code,
    dependencies: [],
    runtime: 'node22',
    secrets: [{ name: 'KEY', value: `secret of ${name}` }],
    supported_triggers,
  });
  const names = ['Two', 'One'];
  const bindings = names.map((name) => ({ ref: { type: 'action_name', value: name }, display_name: name }));
  const importAll = async () => {
    const { body: before } = await ask('GET', 'actions/actions?page=0&per_page=100');
    const known = new Map(before.actions.map((each: { name: string; id: string }) => [each.name, each.id]));
    for (const name of names) {
      const id = known.get(name);
      const { status, body } = id
        ? await ask('PATCH', `actions/actions/${id}`, given(name))
        : await ask('POST', 'actions/actions', given(name));
      expect([status, body.status]).toEqual([id ? 200 : 201, 'built']);
      expect((await ask('POST', `actions/actions/${body.id}/deploy`)).status).toBe(202);
    }
    expect((await ask('PATCH', 'actions/triggers/post-login/bindings', { bindings })).status).toBe(200);
    const exported = (await ask('GET', 'actions/actions?page=0&per_page=100')).body;
    const order = (await ask('GET', 'actions/triggers/post-login/bindings')).body;
    return {
      total: exported.total,
      actions: exported.actions.map(({ name, all_changes_deployed: isDeployed, secrets }: Record<string, object>) => [
        name,
        isDeployed,
        secrets,
      ]),
      order: order.bindings.map((each: { display_name: string }) => each.display_name),
    };
  };
  const first = await importAll();
  expect(first).toMatchObject({ total: 2, order: names });
  expect(await importAll()).toEqual(first);
  // What it exports of a secret, it sends back.
  const { body } = await ask('GET', 'actions/actions?actionName=One');
  const hidden = { secrets: [{ name: 'KEY', value: '_VALUE_NOT_SHOWN_' }] };
  expect((await ask('PATCH', `actions/actions/${body.actions[0].id}`, hidden)).body.all_changes_deployed).toBe(true);
  await ask('PATCH', 'actions/triggers/post-login/bindings', { bindings: [] });
  for (const { id } of (await ask('GET', 'actions/actions')).body.actions) await auth0.actions.delete(id);
});
