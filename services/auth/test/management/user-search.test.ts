/** `GET api/v2/users?q=` in Auth0's syntax, through the `auth0` package, unmodified. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, tokenOf } = stack.use(await openManagement());
const client = stack.adopt(
  new pg.Client({ connectionString: gate.databaseUrl, options: '-c search_path=auth' }),
  (opened) => opened.end(),
);

// Beside the seed's Alice, Bob and Carol, who never logged in.
const jane = {
  user_id: 'auth0|jane',
  email: 'jane@exampleco.com',
  name: 'Jane Smith',
  given_name: 'Jane',
  family_name: 'Smith',
  logins_count: 100,
  last_login: '2017-12-31T23:59:59.999Z',
  created_at: '2016-02-29T12:00:00Z',
  app_metadata: {
    plan: 'gold',
    level: 5,
    active: true,
    subscription: { plan: 'Gold', since: '2018-01-15' },
    none: null,
    empty: [],
    'a b.c': 1,
  },
  user_metadata: { addresses: [{ city: 'Paris' }, { city: 'Rome' }], tags: ['x', 'y'], n: [1, 2] },
};
const john = {
  user_id: 'email|john',
  connection: 'email',
  email: 'john@sub.exampleco.com',
  nickname: 'Johnny "J"',
  logins_count: 200,
  last_login: '2018-01-01T00:00:00.000Z',
  created_at: '2017-01-01T00:00:00Z',
  app_metadata: { plan: 'silver', level: 10, subscription: { plan: 'gold' } },
  user_metadata: { addresses: { city: 'Berlin' }, percent: '100%_\\', line: 'one (.*[\ntwo' },
};
const sam = {
  user_id: 'sms|sam',
  connection: 'sms',
  phone_number: '+15555550199',
  username: 'sam.i.am',
  blocked: true,
  logins_count: 1,
  created_at: '2018-01-01T00:00:00Z',
};

beforeAll(async () => {
  await client.connect();
  for (const person of [jane, john, sam] as Record<string, unknown>[]) {
    const row = { connection: 'Username-Password-Authentication', password_hash: '$argon2id$secret', ...person };
    const columns = Object.keys(row);
    await client.query(
      `INSERT INTO accounts (${columns}) VALUES (${columns.map((_, n) => `$${n + 1}`)})`,
      Object.values(row),
    );
  }
});

const search = async (q: string) =>
  (await auth0.users.list({ q, sort: 'user_id:1' })).data.map(({ user_id }) => user_id);
const [a, b, c, j, o, s] = ['auth0|alice', 'auth0|bob', 'auth0|carol', 'auth0|jane', 'email|john', 'sms|sam'];

describe('a user search by q finds the right users', () => {
  test.each<[string, (string | undefined)[]]>([
    ['*', [a, b, c, j, o, s]],
    ['', [a, b, c, j, o, s]],
    ['name:*smith*', [j]],
    ['name:"jane smith"', [j]],
    ['name:jane', []],
    ['name:JANE*', [j]],
    ['name:jane*smith', [j]],
    ['name:jane\\ smith', [j]],
    ['"Jane Smith"', [j]],
    ['jane*', [j]],
    // As the profile shows it: who has no name is called by his address or number.
    ['name:"+15555550199"', [s]],
    ['nickname:"johnny \\"j\\""', [o]],
    ['nickname:sam*', [s]],
    ['email:"JANE@exampleco.com"', [j]],
    ['email:("jane@exampleco.com" OR "john@sub.exampleco.com")', [j, o]],
    ['email:("jane@exampleco.com" "john@sub.exampleco.com")', [j, o]],
    ['email.raw:jane@exampleco.com', [j]],
    ['email.domain:"exampleco.com"', [j]],
    ['email.domain:*exampleco.com', [j, o]],
    ['email_verified:true', [a, b, c]],
    ['NOT _exists_:email', [s]],
    ['email_verified:false OR NOT _exists_:email', [j, o, s]],
    ['user_id:"auth0|jane"', [j]],
    ['user_id:auth0|j*', [j]],
    ['user_id:AUTH0|j*', []],
    ['username:Sam.I.am', [s]],
    ['phone_number:"+15555550199"', [s]],
    ['blocked:true', [s]],
    ['identities.connection:"email"', [o]],
    ['identities.provider:"auth0"', [a, b, c, j]],
    ['identities.provider:(email OR sms)', [o, s]],
    ['identities.user_id:jane', [j]],
    ['identities.isSocial:true', []],
    ['identities.profileData.email:x OR organization_id:org_1', []],
    ['logins_count:[100 TO 200]', [j, o]],
    ['logins_count:[1 TO *]', [j, o, s]],
    ['logins_count:{100 TO *]', [o]],
    ['logins_count:{1 TO 200}', [j]],
    ['logins_count:>=100', [j, o]],
    ['logins_count:<1', [a, b, c]],
    ['logins_count:0', [a, b, c]],
    ['(NOT _exists_:logins_count OR logins_count:0)', [a, b, c]],
    ['last_login:[* TO 2017-12-31]', [j]],
    ['last_login:{2017-11 TO 2017-12]', [j]],
    ['last_login:[2017-12-01 TO 2017-12-31]', [j]],
    ['last_login:2018', [o]],
    ['created_at:"2016-02-29T12:00:00.000Z"', [j]],
    ['created_at:[2016-02-29T12:00:00Z TO 2017-01-01}', [j]],
    ['_exists_:last_login', [j, o]],
    ['app_metadata.plan:"gold"', [j]],
    ['app_metadata.plan:GOLD', []],
    ['app_metadata.plan:(gold OR silver)', [j, o]],
    ['app_metadata.subscription.plan:"gold"', [o]],
    ['app_metadata.level:5', [j]],
    ['app_metadata.level:"5"', [j]],
    ['app_metadata.level:[5 TO 10}', [j]],
    ['app_metadata.level:>5', [o]],
    ['app_metadata.active:true', [j]],
    ['app_metadata.subscription.since:[2018-01-01 TO 2018-02-01]', [j]],
    ['app_metadata.plan:*ilv*', [o]],
    ['app_metadata.a\\ b.c:1', []],
    ['user_metadata.addresses.city:"Paris"', [j]],
    ['user_metadata.addresses.city:(Paris OR Berlin)', [j, o]],
    ['user_metadata.tags:y', [j]],
    ['user_metadata.tags:y*', [j]],
    ['user_metadata.n:2', [j]],
    ['user_metadata.percent:"100%_\\\\"', [o]],
    ['user_metadata.percent:100%_\\\\*', [o]],
    ['user_metadata.percent:*%%%*', []],
    ['user_metadata.line:one*two', [o]],
    ['user_metadata.line:on.*', []],
    ['user_metadata.line:*\\(.\\*\\[*', [o]],
    ['_exists_:app_metadata.plan', [j, o]],
    ['_exists_:app_metadata.subscription', [j, o]],
    ['_exists_:app_metadata.none OR _exists_:app_metadata.empty', []],
    ['app_metadata:*', [j, o]],
    ['NOT _exists_:user_metadata.tags AND identities.provider:email', [o]],
    ['name:[j TO k]', [j, o]],
    ['logins_count:[1 TO *] -blocked:true', [j, o]],
    ['+logins_count:[1 TO *] +blocked:true', [s]],
    ['email:"\' OR 1=1 --"', []],
  ])('%s', async (q, found) => {
    expect(await search(q)).toEqual(found);
  });
});

test('a list of users is sorted and paged with totals, and a request beyond a thousand is told to refine its search', async () => {
  const page = await auth0.users.list({ q: '*', sort: 'logins_count:-1', per_page: 2, page: 0 });
  expect(page.data.map(({ user_id }) => user_id)).toEqual([o, j]);
  expect(page.response).toMatchObject({ start: 0, limit: 2, length: 2, total: 6 });
  const emails = (await auth0.users.list({ sort: 'email:-1', fields: 'email', per_page: 6 })).data;
  expect(emails.slice(0, 2)).toEqual([{ email: john.email }, { email: jane.email }]);
  expect(emails.at(-1)).toEqual({});
  expect((await ask('GET', 'users?primary_order=false&connection=sms')).body).toHaveLength(1);
  expect((await ask('GET', 'users?search_engine=v3&per_page=100&page=9')).status).toBe(200);
  expect(await ask('GET', 'users?per_page=100&page=10')).toEqual({
    status: 400,
    body: {
      statusCode: 400,
      error: 'Bad Request',
      message:
        'You can only page through the first 1000 records. See https://auth0.com/docs/users/search/v3/view-search-results-by-page#limitation',
      errorCode: 'invalid_paging',
    },
  });
  for (const query of ['search_engine=v2', 'per_page=101', 'sort=app_metadata.a:1', 'primary_order=maybe', 'q=a&q=b'])
    expect(await ask('GET', `users?${query}`)).toMatchObject({
      status: 400,
      body: { errorCode: 'invalid_query_string' },
    });
});

test('users-by-email accepts an address in any spelling, and nothing but an address', async () => {
  expect(await auth0.users.listUsersByEmail({ email: 'JANE@ExampleCo.com', fields: 'user_id,email' })).toEqual([
    { user_id: j, email: jane.email },
  ]);
  expect(await auth0.users.listUsersByEmail({ email: '%' })).toEqual([]);
  expect((await ask('GET', 'users-by-email')).body).toMatchObject({ errorCode: 'invalid_query_string' });
});

test('a search neither shows nor matches hidden fields, and needs its scope', async () => {
  const shown = JSON.stringify((await ask('GET', 'users?fields=password_hash,passwordHash,user_id,incarnation')).body);
  expect(shown).not.toMatch(/argon2|hash|incarnation/i);
  for (const q of ['password_hash:*', '_exists_:passwordHash', 'passwordHash:$argon*', 'sessions_not_before:2020'])
    await expect(auth0.users.list({ q })).rejects.toEqual(refusal(400, 'invalid_query_string'));
  const nobody = `Bearer ${await tokenOf('nobody')}`;
  for (const path of ['users?q=*', 'users-by-email?email=x'])
    expect((await ask('GET', path, undefined, nobody)).body).toMatchObject({ errorCode: 'insufficient_scope' });
});

test('any search is answered or refused, and never fails otherwise', async () => {
  const authorization = `Bearer ${await tokenOf('manager')}`;
  const piece = fc.oneof(
    fc.constantFrom(
      ...' ():"\\*[]{}<>=+-!%_\'^',
      ' AND ',
      ' OR ',
      'NOT ',
      ' TO ',
      '_exists_:',
      'email:',
      'name:',
      'app_metadata.a:',
      'logins_count:',
      'user_metadata.a.b:',
      '[1 TO *]',
      '2018-01-01',
      'last_login:',
      '1e999',
      '\u{1f600}',
      '$',
      '@',
      '"x"',
      'identities.provider:',
      '\u202e',
    ),
    fc.string({ maxLength: 4 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const { status, body } = await ask(
        'GET',
        `users?q=${encodeURIComponent(pieces.join(''))}`,
        undefined,
        authorization,
      );
      expect([status, body.errorCode]).toEqual(status === 200 ? [200, undefined] : [400, 'invalid_query_string']);
    }),
    { numRuns: 150 },
  );
});

test('a search that takes too long is cancelled, and other requests are answered meanwhile', async () => {
  // Two who hold what every search reads; the third waits for a connection as long.
  const locker = stack.adopt(new pg.Client({ connectionString: gate.databaseUrl }), (opened) => opened.end());
  await locker.connect();
  await locker.query('BEGIN; LOCK TABLE auth.connections');
  const slow = Promise.all([1, 2].map(() => ask('GET', 'users?q=identities.provider:auth0')));
  expect((await ask('GET', 'users/auth0%7Cjane?fields=user_id')).status).toBe(200);
  for (const answer of await slow)
    expect(answer).toMatchObject({ status: 503, body: { errorCode: 'query_timed_out' } });
  await locker.query('ROLLBACK');
  expect(await search('identities.provider:sms')).toEqual([s]);
});

describe('a user search uses an index', () => {
  test.each([
    ['email:"jane@exampleco.com"', 'accounts_(any_)?email'],
    ['email:jane*', 'accounts_email_prefix'],
    ['email.domain:exampleco.com', 'accounts_email_domain'],
    ['username:sam*', 'accounts_username_prefix'],
    ['name:"jane smith"', 'accounts_name'],
    ['name:jane*', 'accounts_name'],
    ['nickname:jane*', 'accounts_nickname'],
    ['given_name:jane', 'accounts_given_name'],
    ['family_name:smi*', 'accounts_family_name'],
    ['phone_number:"+15555550199"', 'accounts_any_phone'],
    ['user_id:"auth0|jane"', 'accounts_pkey'],
    ['app_metadata.plan:gold', 'accounts_app_metadata'],
    ['user_metadata.addresses.city:Paris', 'accounts_user_metadata'],
    ['created_at:[2018-01-01 TO 2018-01-02]', 'accounts_created'],
    ['jane', 'BitmapOr'],
  ])('%s', async (q, index) => {
    const { searchCondition } = await import('../../src/management/search.ts');
    const { userFields } = await import('../../src/management/user-search.ts');
    const { text, values } = searchCondition(q, userFields);
    // So few people are scanned faster: the plan is asked for as if they were many.
    await client.query('SET enable_seqscan = off');
    const { rows } = await client.query(`EXPLAIN SELECT user_id FROM accounts account WHERE ${text}`, values);
    expect(JSON.stringify(rows)).toMatch(new RegExp(index));
  });
});
