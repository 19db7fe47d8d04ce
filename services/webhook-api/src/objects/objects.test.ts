import { describe, expect, test } from '@jest/globals';
import { nodeId } from './node-id.ts';
import { presentRepository } from './repository.ts';
import { presentUser, userOfSubject } from './user.ts';

const createdAt = new Date('2026-01-02T03:04:05.678Z');
const base = 'https://post.example/api/v3';

describe('objects', () => {
  test.each([
    ['Repository', 1296269, 'MDEwOlJlcG9zaXRvcnkxMjk2MjY5'],
    ['Organization', 1, 'MDEyOk9yZ2FuaXphdGlvbjE='],
    ['User', 1, 'MDQ6VXNlcjE='],
  ] as const)("the node id of %s %s is the one in GitHub's documentation", (type, id, expected) => {
    expect(nodeId(type, id)).toBe(expected);
  });

  // Whoever kept one of these must find the same subject under it for ever.
  test.each([
    ['auth0|alice', 'User', 5813537347022699, 'MDQ6VXNlcjU4MTM1MzczNDcwMjI2OTk='],
    ['demo-m2m', 'Bot', 6547644759514425, 'MDM6Qm90NjU0NzY0NDc1OTUxNDQyNQ=='],
  ] as const)('the user of %s always has the same id', (subject, type, id, node_id) => {
    const user = presentUser(userOfSubject(subject), base);
    expect(user).toMatchObject({ login: subject, type, id, node_id });
    expect(user.url).toBe(`${base}/users/${encodeURIComponent(subject)}`);
    expect(user.id).toBeGreaterThan(2 ** 31);
    expect(Number.isSafeInteger(user.id)).toBe(true);
  });

  test('addresses are where a GitHub Enterprise Server has them', () => {
    const account = { id: 7, login: 'acme', createdAt };
    const said = { visibility: 'private', settings: {} } as const;
    const repository = { id: 8, name: 'widgets', createdAt, updatedAt: createdAt, ...said };
    expect(presentRepository(account, repository, base)).toMatchObject({
      full_name: 'acme/widgets',
      url: 'https://post.example/api/v3/repos/acme/widgets',
      html_url: 'https://post.example/acme/widgets',
      git_url: 'git://post.example/acme/widgets.git',
      ssh_url: 'git@post.example:acme/widgets.git',
      archive_url: 'https://post.example/api/v3/repos/acme/widgets/{archive_format}{/ref}',
      owner: {
        url: 'https://post.example/api/v3/users/acme',
        html_url: 'https://post.example/acme',
        type: 'Organization',
      },
      created_at: '2026-01-02T03:04:05Z',
    });
  });
});
