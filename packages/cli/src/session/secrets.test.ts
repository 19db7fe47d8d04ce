import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { Profile } from './profiles.ts';
import { forgetSecrets, keepSecrets, readSecrets } from './secrets.ts';

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cli-'));
  env = { GATEPOST_CONFIG_DIR: path.join(folder, 'config') };
});

const profile: Profile = {
  api: 'https://api.example',
  issuer: 'https://gate.example/',
  audience: 'api',
  clientId: 'cli',
  kind: 'person',
  subject: 'someone',
  store: 'file',
};
const inKeyring: Profile = { ...profile, store: 'keyring' };
const secrets = {
  issuer: 'https://gate.example/',
  clientId: 'cli',
  refreshToken: 'r',
  tokens: { api: { value: 'it’s "secret"', expiresAt: 1 } },
};
const files = () => (existsSync(env.GATEPOST_CONFIG_DIR!) ? readdirSync(env.GATEPOST_CONFIG_DIR!) : []);

test('without a keyring secrets are in a file that only its owner can read', async () => {
  expect(await keepSecrets(env, 'localhost:4500', secrets)).toBe('file');
  expect(await readSecrets(env, 'localhost:4500', profile)).toEqual(secrets);
  const [file] = files();
  expect(statSync(path.join(env.GATEPOST_CONFIG_DIR!, file!)).mode & 0o777).toBe(0o600);
  expect(await readSecrets(env, 'another', profile)).toBeUndefined();
  await forgetSecrets(env, 'localhost:4500', 'file');
  expect(files()).toEqual([]);
});

test('a file that cannot be replaced leaves no draft with secrets behind', async () => {
  await keepSecrets(env, 'p', secrets);
  const [file] = files();
  rmSync(path.join(env.GATEPOST_CONFIG_DIR!, file!));
  mkdirSync(path.join(env.GATEPOST_CONFIG_DIR!, file!));
  await expect(keepSecrets(env, 'p', secrets)).rejects.toThrow('EISDIR');
  expect(files()).toEqual([file]);
});

test('secrets are read only for the gate and the application that they are for', async () => {
  await keepSecrets(env, 'p', secrets);
  expect(await readSecrets(env, 'p', { ...profile, issuer: 'https://other.example/' })).toBeUndefined();
  expect(await readSecrets(env, 'p', { ...profile, clientId: 'other' })).toBeUndefined();
  expect(await readSecrets(env, 'p', profile)).toEqual(secrets);
});

test.each([
  ['file', 0o640, /open to other users/],
  ['folder', 0o770, /open to other users/],
] as const)('a %s of secrets that others may open is refused', async (what, mode, message) => {
  await keepSecrets(env, 'p', secrets);
  const config = env.GATEPOST_CONFIG_DIR!;
  chmodSync(what === 'file' ? path.join(config, files()[0]!) : config, mode);
  await expect(readSecrets(env, 'p', profile)).rejects.toThrow(message);
});

/** As libsecret's, as far as we call it: what is kept under `account`, in a file, unless it is locked. It notes how it was called. */
const program = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/called"
for account; do :; done
file="$(dirname "$0")/kept-$account"
[ -e "$(dirname "$0")/broken" ] && echo 'secret-tool: Cannot autolaunch D-Bus' >&2 && exit 1
locked="$(dirname "$0")/locked"
case "$1" in
  store) cat > "$file" ;;
  lookup) [ ! -e "$locked" ] && cat "$file" 2>/dev/null ;;
  search) [ -e "$file" ] && echo '[/1]' ;;
  clear) [ -e "$locked" ] || rm -f "$file" ;;
esac
`;

// macOS has a keyring of its own, which a test leaves alone.
if (process.platform !== 'darwin') {
  let bin: string;
  let desktop: NodeJS.ProcessEnv;
  beforeEach(() => {
    bin = path.join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'secret-tool'), program, { mode: 0o755 });
    desktop = { ...env, PATH: `${bin}:${process.env.PATH}`, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/none' };
  });

  test('a keyring gets secrets by standard input, and nothing is on disk', async () => {
    expect(await keepSecrets(desktop, 'here', secrets)).toBe('keyring');
    expect(await readSecrets(desktop, 'here', inKeyring)).toEqual(secrets);
    expect(files()).toEqual([]);
    const called = readFileSync(path.join(bin, 'called'), 'utf8');
    expect(called).toContain('store --label=gatepost: here service gatepost account here');
    expect(called).not.toContain('secret"');
    await forgetSecrets(desktop, 'here', 'keyring');
    expect(await readSecrets(desktop, 'here', inKeyring)).toBeUndefined();
    expect(await keepSecrets({ ...desktop, GATEPOST_NO_KEYRING: '1' }, 'here', secrets)).toBe('file');
  });

  test.each([
    ['is not wanted', () => ({ ...desktop, GATEPOST_NO_KEYRING: '1' }), 'GATEPOST_NO_KEYRING is set'],
    ['is not in this session', () => env, 'this session has none'],
    ['is locked', () => keyringIs('locked'), 'it is locked'],
    ['fails', () => keyringIs('broken'), 'secret-tool: Cannot autolaunch D-Bus'],
  ])('a keyring that %s is not taken for an empty one', async (_, session, why) => {
    await keepSecrets(desktop, 'here', secrets);
    const there = session();
    const said = `the tokens are in the system’s keyring, which cannot be used: ${why}`;
    await expect(readSecrets(there, 'here', inKeyring)).rejects.toThrow(said);
    await expect(forgetSecrets(there, 'here', 'keyring')).rejects.toThrow(said);
  });

  const keyringIs = (what: string) => {
    writeFileSync(path.join(bin, what), '');
    return desktop;
  };
}
