/** Runs a load (`http-load.ts`, `flow-load.ts`) in a separate process, so that it does not wait for what it measures. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** @param file relative to this one @throws when the process ends before it has reported */
export async function runLoad<Load extends object, Report>(file: string, wanted: Load): Promise<Report> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { serialization: 'advanced' });
  child.send(wanted);
  const answered = once(child, 'message').then(([report]) => report as Report);
  // Not its exit, which may be noticed before a long report has been read completely.
  const ended = once(child, 'disconnect').then((): never => {
    throw new Error('the load ended before it reported');
  });
  return Promise.race([answered, ended]);
}
