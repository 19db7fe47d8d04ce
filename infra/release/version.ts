/** The version, and every file that contains it. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Our packages in that checkout, the root first. */
export const manifests = (root: string): string[] =>
  ['package.json', ...globSync('{packages,services}/*/package.json', { cwd: root }), 'bench/package.json']
    .concat('infra/package.json', 'tests/package.json')
    .map((file) => path.join(root, file));

/** These contain it in a label. */
export const dockerfiles = (root: string): string[] =>
  globSync('infra/images/*.Dockerfile', { cwd: root }).map((file) => path.join(root, file));

/** The chart, if there is one. */
export const chart = (root: string): string => path.join(root, 'infra', 'helm', 'gatepost', 'Chart.yaml');

/** An OCI label (https://github.com/opencontainers/image-spec/blob/v1.1.0/annotations.md), with its value. */
export const versionLabel = /(org\.opencontainers\.image\.version=)"([^"]*)"/;

export const versionOf = (manifest: string): string =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;

/** Writes the version into all of them. */
export function writeVersion(root: string, version: string): void {
  for (const file of manifests(root)) replace(file, /"version": "[^"]*"/, `"version": "${version}"`);
  for (const file of dockerfiles(root)) replace(file, versionLabel, `$1"${version}"`);
  if (existsSync(chart(root))) replace(chart(root), /^appVersion: .*$/m, `appVersion: "${version}"`);
}

const replace = (file: string, what: RegExp, by: string) =>
  writeFileSync(file, readFileSync(file, 'utf8').replace(what, by));
