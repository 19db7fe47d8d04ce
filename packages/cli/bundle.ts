/**
 * Builds `lib/`, the published package: the program in a few files, of which each command loads only what it needs. `npm pack` runs it.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const folder = import.meta.dirname;
const { dependencies, engines } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
  dependencies: Record<string, string>;
  engines: { node: string };
};

/** Writes the program into `lib` of a folder, beside its manifest. */
async function bundle(to: string): Promise<void> {
  const lib = `${to}/lib`;
  rmSync(lib, { recursive: true, force: true });
  mkdirSync(lib, { recursive: true });
  await build({
    entryPoints: { gatepost: `${folder}/src/main.ts` },
    outdir: lib,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    platform: 'node',
    format: 'esm',
    target: `node${engines.node.replace('>=', '')}`,
    conditions: ['source'],
    external: Object.keys(dependencies),
  });
  cpSync(`${folder}/../../LICENSE`, `${lib}/LICENSE`);
  chmodSync(`${lib}/gatepost.js`, 0o755);
  if (to !== folder) cpSync(`${folder}/package.json`, `${to}/package.json`);
}

await bundle(process.argv[2] ?? folder);
