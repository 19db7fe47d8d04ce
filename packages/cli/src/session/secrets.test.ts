import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { forgetSecrets, keepSecrets, readSecrets } from './secrets.ts';

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cli-'));
  env = { GATEPOST_CONFIG_DIR: path.join(folder, 'config') };
});

const secrets = { refreshToken: 'r', tokens: { api: { value: 'it’s "secret"', expiresAt: 1 } } };
const files = () => (existsSync(env.GATEPOST_CONFIG_DIR!) ? readdirSync(env.GATEPOST_CONFIG_DIR!) : []);

test('without a keyring secrets are in a file that only its owner can read', async () => {
  expect(await keepSecrets(env, 'localhost:4500', secrets)).toBe('file');
  expect(await readSecrets(env, 'localhost:4500', 'file')).toEqual(secrets);
  const [file] = files();
  expect(statSync(path.join(env.GATEPOST_CONFIG_DIR!, file!)).mode & 0o777).toBe(0o600);
  expect(await readSecrets(env, 'another', 'file')).toEqual({});
  await forgetSecrets(env, 'localhost:4500');
  expect(files()).toEqual([]);
});

test.each([
  ['file', 0o640, /open to other users/],
  ['folder', 0o770, /open to other users/],
] as const)('a %s of secrets that others may open is refused', async (what, mode, message) => {
  await keepSecrets(env, 'p', secrets);
  const config = env.GATEPOST_CONFIG_DIR!;
  chmodSync(what === 'file' ? path.join(config, files()[0]!) : config, mode);
  await expect(readSecrets(env, 'p', 'file')).rejects.toThrow(message);
});

/** As libsecret's, as far as we call it: what is kept under `account`, in a file. It notes how it was called. */
const program = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/called"
for account; do :; done
file="$(dirname "$0")/kept-$account"
case "$1" in
  store) cat > "$file" ;;
  lookup) cat "$file" 2>/dev/null ;;
  clear) rm -f "$file" ;;
esac
`;

// macOS has a keyring of its own, which a test leaves alone.
if (process.platform !== 'darwin')
  test('a keyring gets secrets by standard input, and nothing is on disk', async () => {
    const bin = path.join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'secret-tool'), program, { mode: 0o755 });
    const desktop = { ...env, PATH: `${bin}:${process.env.PATH}`, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/none' };
    expect(await keepSecrets(desktop, 'here', secrets)).toBe('keyring');
    expect(await readSecrets(desktop, 'here', 'keyring')).toEqual(secrets);
    expect(files()).toEqual([]);
    const called = readFileSync(path.join(bin, 'called'), 'utf8');
    expect(called).toContain('store --label=gatepost: here service gatepost account here');
    expect(called).not.toContain('secret"');
    await forgetSecrets(desktop, 'here');
    expect(await readSecrets(desktop, 'here', 'keyring')).toEqual({});
    expect(await keepSecrets({ ...desktop, GATEPOST_NO_KEYRING: '1' }, 'here', secrets)).toBe('file');
  });
