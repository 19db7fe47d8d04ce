/**
 * Builds `lib/`, the published package: our packages in one file, with its types and the licence. `npm pack` runs it. Of the workspace's
 * dependencies, only amqplib and uuid are installed beside it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const folder = import.meta.dirname;
const { dependencies, engines } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
  dependencies: Record<string, string>;
  engines: { node: string };
};

rmSync(`${folder}/lib`, { recursive: true, force: true });
mkdirSync(`${folder}/lib`);
await build({
  entryPoints: [`${folder}/src/producer.ts`],
  outfile: `${folder}/lib/producer.js`,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: `node${engines.node.replace('>=', '')}`,
  conditions: ['source'],
  external: Object.keys(dependencies),
});

execFileSync('tsc', ['--build', folder], { stdio: 'inherit' });
// `await using` needs the type of its symbol, which older targets do not know.
writeTypes('producer', '../producer/dist', '/// <reference lib="esnext.disposable" />\n');
writeTypes('new-event', '../producer/dist');
writeTypes('publish-error', '../producer/dist');
writeTypes('dead-reason', '../contracts/dist');
cpSync(`${folder}/../../LICENSE`, `${folder}/lib/LICENSE`);

/** A declaration as written by the compiler, with its imports leading to its neighbours in `lib`. */
function writeTypes(name: string, from: string, head = ''): void {
  const text = readFileSync(`${folder}/${from}/${name}.d.ts`, 'utf8')
    .replaceAll(/(?<=from ')(?:@gatepost\/contracts|\.)\/([\w-]+)(?:\.ts)?(?=')/g, './$1.js')
    .replaceAll(/^\/\/# sourceMappingURL=.*\n?/gm, '');
  writeFileSync(`${folder}/lib/${name}.d.ts`, head + text);
}
