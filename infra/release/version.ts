/** `npm run release-version -- 1.2.0`: writes the version into everything that says it (docs/releasing.md). */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const rootFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Every package of ours, the root first. */
export const manifests = (): string[] =>
  ['package.json', ...globSync('{packages,services}/*/package.json', { cwd: rootFolder }), 'bench/package.json']
    .concat('infra/package.json', 'tests/package.json')
    .map((file) => path.join(rootFolder, file));

/** They say it in a label. */
export const dockerfiles = (): string[] =>
  globSync('infra/images/*.Dockerfile', { cwd: rootFolder }).map((file) => path.join(rootFolder, file));

/** The chart, where there is one. */
export const chart = path.join(rootFolder, 'infra', 'helm', 'gatepost', 'Chart.yaml');

/** A label of the OCI's (https://github.com/opencontainers/image-spec/blob/v1.1.0/annotations.md), and what stands there. */
export const versionLabel = /(org\.opencontainers\.image\.version=)"([^"]*)"/;

function write(version: string, today: string): void {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error('a version like 1.2.0');
  const replace = (file: string, what: RegExp, by: string) =>
    writeFileSync(file, readFileSync(file, 'utf8').replace(what, by));
  for (const file of manifests()) replace(file, /"version": "[^"]*"/, `"version": "${version}"`);
  for (const file of dockerfiles()) replace(file, versionLabel, `$1"${version}"`);
  if (existsSync(chart)) replace(chart, /^appVersion: .*$/m, `appVersion: "${version}"`);
  replace(path.join(rootFolder, 'CHANGELOG.md'), /^## Unreleased$/m, `## Unreleased\n\n## ${version} (${today})`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  write(process.argv[2] ?? '', new Date().toISOString().slice(0, 10));
