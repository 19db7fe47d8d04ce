/** The files that an action's process starts from: it may read these and its packages, and no others. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @property manifest marks them as ES modules */
export type WorkerFiles = { main: string; folder: string; manifest: string };

const here = fileURLToPath(new URL('./worker/', import.meta.url));
let found: WorkerFiles | undefined;

/** Computed once. */
export function workerFiles(): WorkerFiles {
  found ??= existsSync(join(here, 'main.ts')) ? withoutTypes() : filesOf(here, '../../../package.json');
  return found;
}

const filesOf = (folder: string, manifest: string): WorkerFiles => ({
  main: join(folder, 'main.js'),
  folder,
  manifest: join(folder, manifest),
});

/**
 * In the source tree these are copies without types, made once per content. Otherwise Node would strip the types anew in each process, which
 * takes twice as long as the rest of its start.
 */
function withoutTypes(): WorkerFiles {
  const sources = readdirSync(here).map((name) => [name, readFileSync(join(here, name), 'utf8')] as const);
  const hash = createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 16);
  const caches = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));
  const folder = join(caches, `actions-${hash}`);
  if (!existsSync(folder)) {
    mkdirSync(caches, { recursive: true });
    const unfinished = mkdtempSync(`${folder}-`);
    writeFileSync(join(unfinished, 'package.json'), '{"type":"module"}');
    for (const [name, text] of sources)
      writeFileSync(
        join(unfinished, name.replace(/\.ts$/, '.js')),
        stripTypeScriptTypes(text).replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"),
      );
    try {
      renameSync(unfinished, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error; // another process was faster
    }
  }
  return filesOf(`${folder}/`, 'package.json');
}
