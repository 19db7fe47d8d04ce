import { expect, test } from '@jest/globals';
import { type Asked, gatepost, openGate, Reply } from './gate.ts';

test('`hooks edit` leaves the secret alone unless it is given a file with another', async () => {
  const changes: [string, unknown][] = [];
  const hook = { id: 1, active: true, events: ['push'], retry: 'on', config: { url: 'u', content_type: 'json' } };
  const taking =
    (what: string) =>
    ({ method, body }: Asked) => {
      if (method === 'PATCH') changes.push([what, JSON.parse(body)]);
      return hook;
    };
  await using gate = await openGate({
    '/repos/a/b/hooks/1': taking('hook'),
    '/repos/a/b/hooks/1/config': taking('config'),
  });
  const env = { ...gate.machine, GATEPOST_WEBHOOK_SECRET: 'of another hook' };
  const edit = ['hooks', 'edit', '1', '--repo', 'a/b'];
  expect(await gatepost([...edit, '--events', 'push'], env)).toMatchObject({ code: 0 });
  expect(await gatepost([...edit, '--secret-file', '-'], env, 'another\n')).toMatchObject({ code: 0 });
  expect(changes).toEqual([
    ['hook', { events: ['push'] }],
    ['config', { secret: 'another' }],
  ]);
});

test('`hooks edit` changes all or nothing, and keeps the rest of the configuration', async () => {
  const changes: [string, unknown][] = [];
  const config = { url: 'u', content_type: 'json', insecure_ssl: '1', secret: '********' };
  const hook = { id: 1, active: true, events: ['push'], retry: 'on', config };
  const taking =
    (what: string, answer: () => unknown) =>
    ({ method, body }: Asked) => {
      if (method !== 'PATCH') return hook;
      changes.push([what, JSON.parse(body)]);
      return answer();
    };
  const answers = { hook: new Reply(422, { message: 'Validation Failed' }), config: new Reply(200, config) };
  await using gate = await openGate({
    '/repos/a/b/hooks/1': taking('hook', () => answers.hook),
    '/repos/a/b/hooks/1/config': taking('config', () => answers.config),
  });
  const edit = ['hooks', 'edit', '1', '--repo', 'a/b'];
  const moved = [...edit, '--url', 'https://new.example', '--inactive'];
  expect(await gatepost(moved, gate.machine)).toMatchObject({ code: 5, out: '' });
  const present = { content_type: 'json', insecure_ssl: '1', secret: '********' };
  const move = { active: false, config: { ...present, url: 'https://new.example' } };
  expect(changes).toEqual([['hook', move]]);

  answers.hook = new Reply(200, hook);
  answers.config = new Reply(422, { message: 'previous_secret_until is too late' });
  const { code, err } = await gatepost([...moved, '--secret-file', '-', '--overlap', '9000'], gate.machine, 'another');
  expect([code, err]).toEqual([5, expect.stringContaining('  Everything but the secret is changed already.\n')]);
  const secret = { secret: 'another', previous_secret_until: expect.any(String) };
  expect(changes.slice(1)).toEqual([
    ['hook', move],
    ['config', secret],
  ]);
});

// Once it was off, no command turned it on again.
test('`hooks edit --check-ssl` has the receiver’s certificate checked again', async () => {
  const changes: unknown[] = [];
  const config = { url: 'u', content_type: 'json', insecure_ssl: '1' };
  const hook = { id: 1, active: true, events: ['push'], retry: 'on', config };
  await using gate = await openGate({
    '/repos/a/b/hooks/1': () => hook,
    '/repos/a/b/hooks/1/config': ({ body }: Asked) => {
      changes.push(JSON.parse(body));
      return { ...config, insecure_ssl: '0' };
    },
  });
  const edit = ['hooks', 'edit', '1', '--repo', 'a/b', '--check-ssl'];
  expect(await gatepost(edit, gate.machine)).toMatchObject({ code: 0, err: '' });
  expect(changes).toEqual([{ insecure_ssl: '0' }]);
  expect(await gatepost([...edit, '--insecure-ssl'], gate.machine)).toMatchObject({
    code: 2,
    err: 'gatepost: --check-ssl or --insecure-ssl, not both\n',
  });
});
