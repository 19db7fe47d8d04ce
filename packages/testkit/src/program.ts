/** A program of the repository, run from its source to its end. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Programs that bring the schemas of DATABASE_URL up to date. */
export const migrationPrograms = ['services/auth/src/migrations.ts', 'packages/webhook-db/src/migrations.ts'];

/** Arguments for Node, with which `import.meta` has no `main`, as before Node 22.18. */
export const withoutMain = [
  '--import',
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        const loaded = next(url, context);
        return /[/]migrations[.]/.test(url) ? { ...loaded, source: 'delete import.meta.main;' + loaded.source } : loaded;
      },
    });`)}`,
];

/** @param checkout the repository's folder, if not this one @throws with its whole output, when it does not exit with 0. */
export async function runProgram(path: string, env: Record<string, string>, checkout = root): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=source', join(checkout, path)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${path} ended with ${code}:\n${output}`);
}
