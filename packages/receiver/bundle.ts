/** Builds `lib/`, the published package: one file, its types and the licence. `npm pack` runs it. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const folder = import.meta.dirname;
const { engines } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { engines: { node: string } };

rmSync(`${folder}/lib`, { recursive: true, force: true });
mkdirSync(`${folder}/lib`);
await build({
  entryPoints: [`${folder}/src/receiver.ts`],
  outfile: `${folder}/lib/receiver.js`,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: `node${engines.node.replace('>=', '')}`,
});

execFileSync('tsc', ['--build', folder], { stdio: 'inherit' });
for (const name of readdirSync(`${folder}/dist`).filter((name) => name.endsWith('.d.ts'))) {
  const text = readFileSync(`${folder}/dist/${name}`, 'utf8');
  writeFileSync(
    `${folder}/lib/${name}`,
    text.replaceAll(/(?<=from '\.\/[\w-]+)\.ts(?=')/g, '.js').replaceAll(/^\/\/# sourceMappingURL=.*\n?/gm, ''),
  );
}
cpSync(`${folder}/../../LICENSE`, `${folder}/lib/LICENSE`);
