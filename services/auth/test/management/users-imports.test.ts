/** People who come from elsewhere with their passwords' hashes, through the `auth0` package, unmodified. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { hash as bcrypt } from '@node-rs/bcrypt';
import { TOTP } from 'otpauth';
import pg from 'pg';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, signIn, tokenOf } = stack.use(await openManagement());
const database = stack.adopt(
  new pg.Client({ connectionString: gate.databaseUrl, options: '-c search_path=auth' }),
  (opened) => opened.end(),
);
await database.connect();

const password = 'correct horse battery staple';
const connection = async () => {
  const { data } = await auth0.connections.list({ strategy: ['auth0'] });
  return data[0]!.id!;
};
const fileOf = (users: unknown) => new Blob([typeof users === 'string' ? users : JSON.stringify(users)]);

/** Waits for its end. */
async function importUsers(users: unknown, options: { upsert?: boolean; external_id?: string } = {}) {
  const begun = await auth0.jobs.usersImports.create({
    users: fileOf(users),
    connection_id: await connection(),
    ...options,
  });
  expect(begun).toMatchObject({ status: 'pending', type: 'users_import' });
  return until('the import to end', async () => {
    const job = await jobOf(begun.id);
    return job.status === 'pending' ? undefined : job;
  });
}
type Job = { id: string; status: string; summary: Record<string, number>; percentage_done: number; location: string };

/** With what Auth0's typings leave out. */
const jobOf = async (id: string) => (await auth0.jobs.get(id)) as unknown as Job;

const errorsOf = async (id: string) => {
  const answer = await fetch(`${gate.issuer}api/v2/jobs/${id}/errors`, {
    headers: { authorization: `Bearer ${await tokenOf('manager')}` },
  });
  return { status: answer.status, text: await answer.text() };
};

test('imported users keep their passwords and profile fields', async () => {
  const job = await importUsers(
    [
      {
        email: 'Bea@Example.com',
        email_verified: true,
        password_hash: await bcrypt(password, { cost: 4 }),
        name: 'Bea',
      },
      {
        email: 'md@example.com',
        user_id: 'old-17',
        user_metadata: { colour: 'green', none: null },
        custom_password_hash: {
          algorithm: 'md5',
          hash: { value: createHash('md5').update(`salt${password}`).digest('hex'), encoding: 'hex' },
          salt: { value: 'salt' },
        },
      },
    ],
    { external_id: 'from the shop' },
  );
  expect(job).toMatchObject({
    status: 'completed',
    external_id: 'from the shop',
    percentage_done: 100,
    summary: { failed: 0, inserted: 2, updated: 0, total: 2 },
  });
  expect((await errorsOf(job.id)).status).toBe(204);
  expect(await auth0.users.get('auth0|old-17')).toMatchObject({ user_metadata: { colour: 'green' } });

  const stored = async (email: string) => {
    const { rows } = await database.query<{ password_hash: string }>(
      'SELECT password_hash FROM accounts WHERE email = $1',
      [email],
    );
    return rows[0]!.password_hash;
  };
  expect(await stored('bea@example.com')).toMatch(/^\$2b\$04\$/);
  for (const email of ['bea@example.com', 'md@example.com']) {
    for (const _ of ['with the old hash', 'with ours'])
      expect(await signIn(new Browser(gate), email)).toHaveProperty('accessToken', expect.any(String));
    // Nothing weaker stays.
    expect(await stored(email)).toMatch(/^\$argon2id\$v=19\$m=19456/);
  }
});

// Their addresses were refused, although they may sign up with them.
test('people with unusual addresses are imported, and those nested too deep are refused on their own', async () => {
  const emails = ['tom&jerry@example.com', 'a..b@docomo.example', 'info@xn--mller-kva.xn--p1ai', 'jörg@müller.example'];
  const deep = JSON.parse(`${'['.repeat(150)}${']'.repeat(150)}`) as unknown;
  const job = await importUsers([
    ...emails.map((email) => ({ email, mfa_factors: [{ email: { value: email } }] })),
    { email: 'deep@example.com', user_metadata: { deep } },
  ]);
  expect(job.summary).toEqual({ failed: 1, inserted: 4, updated: 0, total: 5 });
  expect(JSON.parse((await errorsOf(job.id)).text)).toMatchObject([
    { index: 4, errors: [{ code: 'INVALID_FORMAT', message: 'nested more than 32 levels deep' }] },
  ]);
});

test('a user that cannot be imported is reported without the hash, and the other users are imported', async () => {
  const job = await importUsers([
    { email: 'good@example.com' },
    { email: 'no address', password_hash: await bcrypt('x', { cost: 4 }) },
    { email: 'weak@example.com', password_hash: '$1$salt$hash' },
    { email: 'more@example.com', is_admin: true },
    { email: 'alice@example.com', password_hash: await bcrypt('x', { cost: 4 }) },
    { email: 'good@example.com' },
    'a text',
  ]);
  expect(job.summary).toEqual({ failed: 6, inserted: 1, updated: 0, total: 7 });
  const { text } = await errorsOf(job.id);
  expect(text).not.toMatch(/\$2b|\$1\$/);
  const told = (JSON.parse(text) as { index: number; errors: { code: string; path: string }[] }[]).map(
    ({ index, errors }) => [index, errors[0]!.code, errors[0]!.path],
  );
  expect(told).toEqual([
    [1, 'INVALID_FORMAT', 'email'],
    [2, 'INVALID_FORMAT', 'password_hash'],
    [3, 'OBJECT_ADDITIONAL_PROPERTIES', ''],
    [4, 'DUPLICATED_USER', 'email'],
    [5, 'DUPLICATED_USER', 'email'],
    [6, 'INVALID_FORMAT', ''],
  ]);
});

test('of a password or a hash, also under a wrong name, only the name is stored and shown with the fault', async () => {
  const harmless = { email: 'misnamed@example.com', blocked: false, user_metadata: { colour: 'green' } };
  const passwordHash = await bcrypt('x', { cost: 4 });
  const job = await importUsers([
    { ...harmless, password: 'in the clear', passwordHash },
    { ...harmless, email: 'none', password_hash: passwordHash },
  ]);
  const { rows } = await database.query('SELECT faults::text FROM user_imports', []);
  const { text } = await errorsOf(job.id);
  for (const kept of [JSON.stringify(rows), text]) expect(kept).not.toMatch(/in the clear|\$2b/);
  expect(JSON.parse(text)).toMatchObject([
    {
      user: { ...harmless, password: '***', passwordHash: '***' },
      errors: [{ message: 'Additional properties not allowed: password, passwordHash' }],
    },
    { user: { ...harmless, email: 'none', password_hash: '***' } },
  ]);
});

test('a user with text that cannot be stored is reported with it replaced, and the other users are imported', async () => {
  const job = await importUsers([
    { email: 'storable@example.com' },
    { email: 'nul@example.com', name: 'a\0b' },
    { email: 'half@example.com', user_metadata: { 'high \ud800': ['low \udc00'] } },
    { email: 'unknown@example.com', 'nul\0': 1 },
  ]);
  expect(job).toMatchObject({ status: 'completed', summary: { inserted: 1, failed: 3, total: 4 } });
  const refused = JSON.parse((await errorsOf(job.id)).text) as { index: number; user: object }[];
  expect(refused.map(({ index, user }) => [index, user])).toEqual([
    [1, { email: 'nul@example.com', name: 'a\ufffdb' }],
    [2, { email: 'half@example.com', user_metadata: { 'high \ufffd': ['low \ufffd'] } }],
    [3, { email: 'unknown@example.com', 'nul\ufffd': '***' }],
  ]);
});

test('a date that cannot be stored fails only its own user, and a date with any time zone is accepted', async () => {
  const given = (email: string, password_set_date: string) => ({ email: `${email}@example.com`, password_set_date });
  const job = await importUsers([
    given('east', '2024-01-01T00:00:00+23:59'),
    given('nobody', '0000-01-01T00:00:00Z'),
    given('plain', '2024-01-01T00:00:00Z'),
  ]);
  expect(job).toMatchObject({ status: 'completed', summary: { failed: 1, inserted: 2, updated: 0, total: 3 } });
  expect((await errorsOf(job.id)).text).toContain('"path":"password_set_date"');
});

test('an import with upsert updates existing users except for how they sign in', async () => {
  const before = await database.query('SELECT password_hash FROM accounts WHERE email = $1', ['carol@example.com']);
  const job = await importUsers(
    [{ email: 'Carol@example.com', name: 'Caroline', blocked: true, password_hash: await bcrypt('x', { cost: 4 }) }],
    { upsert: true },
  );
  expect(job.summary).toEqual({ failed: 0, inserted: 0, updated: 1, total: 1 });
  expect(await auth0.users.get('auth0|carol')).toMatchObject({ name: 'Caroline', blocked: false });
  expect(
    (await database.query('SELECT password_hash FROM accounts WHERE email = $1', ['carol@example.com'])).rows,
  ).toEqual(before.rows);
});

test('a person who occurs several times in an import with upsert gets all that it gives, the later ones last', async () => {
  const entries = [
    { email: 'often@example.com', name: 'First', user_metadata: { of: 1 } },
    { email: 'Often@example.com', nickname: 'second', user_metadata: { of: 2 } },
    { email: 'often@example.com', name: 'Third' },
  ];
  const oftenNow = async () => (await auth0.users.listUsersByEmail({ email: 'often@example.com' }))[0];
  const third = { name: 'Third', nickname: 'second', user_metadata: { of: 2 } };
  const first = await importUsers(entries, { upsert: true });
  expect(first.summary).toEqual({ failed: 0, inserted: 1, updated: 2, total: 3 });
  expect(await oftenNow()).toMatchObject(third);
  await importUsers([{ email: 'often@example.com', name: 'x', nickname: 'x', user_metadata: {} }], { upsert: true });
  const again = await importUsers(entries, { upsert: true });
  expect(again.summary).toEqual({ failed: 0, inserted: 0, updated: 3, total: 3 });
  expect(await oftenNow()).toMatchObject(third);
});

test('second factors are imported once, however often the file is sent, and an invalid key fails only its own user', async () => {
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const person = {
    email: 'two@example.com',
    user_id: 'two',
    mfa_factors: [
      { totp: { secret } },
      { phone: { value: '+15555550142' } },
      { email: { value: 'Codes@example.com' } },
    ],
  };
  const faulty = [
    { totp: { secret: 'short' } },
    { phone: { value: '+15555550142' }, email: { value: 'a@example.com' } },
    {},
  ];
  const job = await importUsers([
    person,
    ...faulty.map((factor, n) => ({ email: `faulty${n}@example.com`, mfa_factors: [factor] })),
  ]);
  expect(job.summary).toEqual({ failed: 3, inserted: 1, updated: 0, total: 4 });
  const { text } = await errorsOf(job.id);
  expect(text).not.toContain('short');
  expect(text.match(/"path":"mfa_factors\.0/g)).toHaveLength(3);
  expect((await importUsers([person], { upsert: true })).summary).toMatchObject({ updated: 1 });
  const { rows } = await database.query<{ type: string; target: string | null; sealed: Buffer | null }>(
    `SELECT type, target, sealed FROM authentication_methods WHERE user_id = 'auth0|two' ORDER BY type`,
  );
  expect(rows.map(({ type, target }) => [type, target])).toEqual([
    ['email', 'codes@example.com'],
    ['phone', '+15555550142'],
    ['totp', null],
  ]);
  expect(rows[2]!.sealed!.includes(secret)).toBe(false);
  // Also where somebody stands twice in a file, in whatever case.
  const twice = { ...person, email: 'twice@example.com', user_id: 'twice' };
  const both = [twice, { ...twice, email: 'Twice@Example.com' }];
  const another = { ...twice, email: 'another@example.com', mfa_factors: [{ phone: { value: '+15555550143' } }] };
  expect((await importUsers([twice, another])).summary).toMatchObject({ inserted: 1, failed: 1 });
  await database.query(`DELETE FROM accounts WHERE user_id = 'auth0|twice'`);
  expect((await importUsers(both, { upsert: true })).summary).toMatchObject({ inserted: 1, updated: 1 });
  const { rows: types } = await database.query(
    `SELECT type FROM authentication_methods WHERE user_id = 'auth0|twice' ORDER BY type`,
  );
  expect(types.map(({ type }) => type)).toEqual(['email', 'phone', 'totp']);
  // Asked for at the next login.
  await auth0.guardian.factors.set('otp', { enabled: true });
  const again = await importUsers([
    { ...person, password_hash: await bcrypt(password, { cost: 4 }), email: 'pw@example.com', user_id: 'pw' },
  ]);
  expect(again.summary).toMatchObject({ inserted: 1 });
  const browser = new Browser(gate);
  const asked = await browser.logIn(
    await browser.authorize({
      client_id: 'spa',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      ...pkce(),
    }),
    'pw@example.com',
    password,
  );
  const done = await browser.submit(asked, { code: new TOTP({ secret }).generate() });
  expect(done.location?.searchParams.get('code')).toEqual(expect.any(String));
  await auth0.guardian.factors.set('otp', { enabled: false });
});

test('of twenty imports requested at once two are accepted', async () => {
  const connection_id = await connection();
  // None ends meanwhile: the table of accounts is held.
  await database.query('BEGIN; LOCK TABLE accounts IN EXCLUSIVE MODE');
  const asked = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) =>
      auth0.jobs.usersImports.create({ users: fileOf([{ email: `race${n}@example.com` }]), connection_id }),
    ),
  );
  const taken = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    expect(taken).toHaveLength(2);
    for (const one of asked) if (one.status === 'rejected') expect(one.reason).toMatchObject({ statusCode: 429 });
    expect(await auth0.jobs.get(taken[0]!.id)).toMatchObject({ status: 'pending', percentage_done: 0 });
  } finally {
    await database.query('ROLLBACK');
  }
  for (const { id } of taken)
    await until('the import to end', async () => (await auth0.jobs.get(id)).status === 'completed' || undefined);
});

test('the progress of a long import can be read while it runs', async () => {
  // The second part waits for the address that somebody else is about to take.
  await database.query(`BEGIN; INSERT INTO accounts (user_id, connection, email)
    SELECT 'auth0|held', connection, 'held@example.com' FROM accounts WHERE user_id = 'auth0|carol'`);
  const users = Array.from({ length: 500 }, (_, n) => ({
    email: n === 300 ? 'held@example.com' : `long${n}@example.com`,
  }));
  const { id } = await auth0.jobs.usersImports.create({ users: fileOf(users), connection_id: await connection() });
  try {
    const job = await until('half of it', async () => {
      const shown = await auth0.jobs.get(id);
      return (shown as { percentage_done?: number }).percentage_done === 50 ? shown : undefined;
    });
    expect(job).toMatchObject({ status: 'pending', time_left_seconds: expect.any(Number) });
  } finally {
    await database.query('ROLLBACK');
  }
  const summary = await until('the import to end', async () => {
    const shown = await jobOf(id);
    return shown.status === 'completed' ? shown.summary : undefined;
  });
  expect(summary).toMatchObject({ inserted: 500, failed: 0 });
});

test('an import into a connection that is being deleted fails and leaves no user', async () => {
  const { id: connection_id = '', name } = await auth0.connections.create({ name: 'leaving', strategy: 'auth0' });
  await database.query('BEGIN');
  await database.query('DELETE FROM connections WHERE id = $1', [connection_id]);
  const { id } = await auth0.jobs.usersImports.create({
    users: fileOf([{ email: 'late@example.com' }]),
    connection_id,
  });
  await until('the import to wait, or to end', async () => {
    const { rowCount } = await database.query(
      'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
    );
    return rowCount || (await jobOf(id)).status !== 'pending' || undefined;
  });
  await database.query('COMMIT');
  await until('the import to fail', async () => (await jobOf(id)).status === 'failed' || undefined);
  expect((await database.query('SELECT FROM accounts WHERE connection = $1', [name])).rowCount).toBe(0);
});

test('an upload that ends in the middle of its file or of a field is refused, and disturbs no other request', async () => {
  const authorization = `Bearer ${await tokenOf('manager')}`;
  const send = (body: string) =>
    fetch(`${gate.issuer}api/v2/jobs/users-imports`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'multipart/form-data; boundary=x' },
      body,
    });
  const file = '--x\r\ncontent-disposition: form-data; name="users"; filename="users.json"\r\n\r\n[{"email"';
  const field = '--x\r\ncontent-disposition: form-data; name="connection_id"\r\n\r\ncon';
  const nameless = '--x\r\ncontent-type: text/plain\r\n\r\nwhat';
  for (const body of [file, field, nameless, '--x\r\n', '', `${file}${'x'.repeat(600_000)}`])
    expect([400, 413]).toContain((await send(body)).status);
  const users = `--x\r\ncontent-disposition: form-data; name="users"\r\n\r\n[${'"x",'.repeat(500)}"x"]\r\n--x--\r\n`;
  const answer = await send(users);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({
      message: 'Payload validation error: users has more than 1024 bytes; send a file with its filename',
    }),
  ]);
  expect((await auth0.users.get('auth0|carol')).user_id).toBe('auth0|carol');
});

test('an uploaded file is stored sealed, and deleted when it has been imported', async () => {
  const { rows } = await database.query<{ users: Buffer | null }>('SELECT users FROM user_imports', []);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.every(({ users }) => users === null)).toBe(true);
});

test('users are exported as JSON lines or CSV, under a link that cannot be guessed and without hashes', async () => {
  const exportUsers = async (wanted: Parameters<typeof auth0.jobs.usersExports.create>[0]) => {
    const begun = await auth0.jobs.usersExports.create(wanted);
    expect(begun).toMatchObject({ type: 'users_export', status: 'pending' });
    const { location } = await jobOf(begun.id);
    const file = await fetch(location);
    return { location, text: gunzipSync(Buffer.from(await file.arrayBuffer())).toString() };
  };
  const { location, text } = await exportUsers({ connection_id: await connection(), format: 'json' });
  const people = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { user_id: string });
  expect(people.find(({ user_id }) => user_id === 'auth0|old-17')).toMatchObject({ email: 'md@example.com' });
  expect(text).not.toMatch(/argon2|\$2b/);
  await auth0.users.update('auth0|carol', { name: '=cmd|"x"', nickname: '+1+cmd', user_metadata: { note: '\n=1+1' } });
  const table = await exportUsers({
    format: 'csv',
    fields: [
      { name: 'user_id' },
      { name: 'name', export_as: 'called' },
      { name: 'nickname' },
      { name: 'phone_number' },
      { name: 'user_metadata.colour' },
      { name: 'user_metadata.note' },
      { name: 'identities[0].connection', export_as: 'provider' },
    ],
  });
  expect(table.text.split('\r\n')).toEqual(
    expect.arrayContaining([
      'user_id,called,nickname,phone_number,user_metadata.colour,user_metadata.note,provider',
      'auth0|old-17,md@example.com,md,,green,,Username-Password-Authentication',
      `auth0|carol,"'=cmd|""x""",'+1+cmd,+15555550103,,"'\n=1+1",Username-Password-Authentication`,
    ]),
  );
  const begun = await auth0.jobs.usersExports.create({ format: 'json' });
  const shown = await fetch(`${gate.issuer}api/v2/jobs/${begun.id}`, {
    headers: { authorization: `Bearer ${await tokenOf('manager', { scope: 'create:users' })}` },
  });
  // Whoever may bring people in need not be able to read them.
  expect([shown.status, await shown.json()]).toEqual([
    200,
    expect.not.objectContaining({ location: expect.anything() }),
  ]);
  expect((await fetch(location.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')))).status).toBe(404);
  expect((await fetch(location.replace(/\?.*/, ''))).status).toBe(404);
});

test('an export of many users is complete', async () => {
  await database.query(
    `INSERT INTO accounts (user_id, connection, email, name)
     SELECT 'auth0|many-' || n, connection, 'many-' || n || '@example.com', md5(n::text) || md5((n + 1)::text)
       FROM generate_series(1, 3000) n, (SELECT connection FROM accounts WHERE user_id = 'auth0|carol') of_carol`,
  );
  const begun = await auth0.jobs.usersExports.create({ connection_id: await connection() });
  const { location } = await jobOf(begun.id);
  const file = await fetch(location);
  const lines = gunzipSync(Buffer.from(await file.arrayBuffer()))
    .toString()
    .trim()
    .split('\n');
  expect(lines.filter((line) => line.includes('many-'))).toHaveLength(3_000);
});

test('a file that does not contain users is refused with an explanation', async () => {
  const connection_id = await connection();
  const create = (users: Blob, id = connection_id) => auth0.jobs.usersImports.create({ users, connection_id: id });
  await expect(create(fileOf('[{'))).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(create(fileOf([]))).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(create(fileOf({ email: 'x@example.com' }))).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(create(fileOf([{ email: 'x@example.com' }]), 'con_none')).rejects.toEqual(
    refusal(404, 'inexistent_connection'),
  );
  // That was an error of ours.
  const deep = `[{"email":"deep@example.com","user_metadata":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}]`;
  await expect(create(fileOf(deep))).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(create(fileOf('x'.repeat(512_001)))).rejects.toEqual(refusal(413, 'payload_too_large'));
  const bare = await fetch(`${gate.issuer}api/v2/jobs/users-imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await tokenOf('manager')}`, 'content-type': 'multipart/form-data' },
    body: 'x',
  });
  expect([bare.status, ((await bare.json()) as { errorCode: string }).errorCode]).toEqual([400, 'invalid_body']);
});
