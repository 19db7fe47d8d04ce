/**
 * Imports people from a file of JSON lines: Auth0's user export, its export of password hashes, or lines of its import schema. Uses `POST
 * jobs/users-imports`, for one part of the file at a time.
 */
import { rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Run } from '../command.ts';
import { openLines } from '../import/lines.ts';
import { parseUser } from '../import/parse-user.ts';
import { checkWritable, hashOf, readState, type State, writeState } from '../import/state.ts';
import { Problem } from '../problem.ts';
import type { Api, Json } from '../session/api.ts';
import { clean } from '../terminal.ts';

/** Below the gate's limit per request. */
const partMaxBytes = 450_000;
const partMaxUsers = 1_000;
/** So that a part of one user is within the gate's limit. */
const userMaxBytes = 500_000;
const shownMax = 20;

export const importUsers: Run = async (context) => {
  const { args, flags, out, json, session } = context;
  const file = args.FILE!;
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new Problem('usage', `there is no file ${clean(file)}`);
  const { profile, management } = await session();
  const api = management();
  const connection = await findConnection(api, flags.text('connection'));
  const stateFile = `${file}.imported`;
  const state = readState(stateFile, {
    file: await hashOf(file),
    issuer: profile.issuer,
    connection: connection.id,
    upsert: flags.is('upsert'),
  });
  if ((state.line > 0 || state.job) && !json)
    out.note(`Continuing where it was interrupted, as recorded in ${clean(stateFile)}.`);
  checkWritable(stateFile);
  const from = performance.now();
  const progress = out.progress('importing', found.size);
  const parts = sendParts(context, api, state, {
    options: { connection_id: state.connection, upsert: String(state.upsert) },
    save: () => writeState(stateFile, state),
    // Progress within the part that the gate is importing.
    told: (percent) => progress.at(Math.floor(begun + ((read - begun) * percent) / 100)),
  });
  let [line, read, begun] = [0, 0, 0];
  await parts.settle();

  const { lines, bytesRead } = openLines(file);
  for await (const text of lines) {
    line += 1;
    read = bytesRead();
    if (line === 1 && text.trimStart().startsWith('['))
      throw new Problem(
        'usage',
        `${file} is a JSON array, not a person on each line`,
        `jq --compact-output '.[]' '${file}' makes lines of it.`,
      );
    if (line <= state.line || text.trim() === '') continue;
    if (!(await parts.add(line, parseUser(text)))) continue;
    progress.at(read);
    begun = read;
  }
  await parts.send();
  progress.end();
  rmSync(stateFile, { force: true });

  const { inserted, updated, failed } = state;
  if (json) out.json({ lines: line, inserted, updated, failed });
  else {
    const seconds = ((performance.now() - from) / 1_000).toFixed(1);
    out.line(`${inserted} imported, ${updated} updated, ${failed} refused, in ${seconds} s`);
  }
  if (failed > 0)
    throw new Problem(
      'failed',
      `${failed} of ${line} lines were not imported`,
      'Correct those lines and import them again. Whoever exists already is refused, or updated with --upsert.',
    );
};

/** Sends users one part at a time and waits for each; refused ones are reported with their line. */
function sendParts(
  { out, json, signal }: Pick<Context, 'out' | 'json' | 'signal'>,
  api: Api,
  state: State,
  { options, save, told }: { options: Record<string, string>; save: () => void; told: (percent: number) => void },
) {
  let [users, lines, bytes]: [Json[], number[], number] = [[], [], 0];
  const refuse = makeRefuse({ out, json }, state);
  const forgetJob = () => {
    delete state.job;
    delete state.jobLines;
    save();
  };
  const settle = async () => {
    const { job: id, jobLines = [] } = state;
    if (id === undefined) return;
    const job = await ended(api, id, signal, told);
    const last = jobLines.at(-1)!;
    if (job?.status !== 'completed') {
      // Otherwise each further run would ask for this job again, and end here.
      forgetJob();
      const again = 'The same command sends them again, and goes on from there.';
      if (!job) throw new Problem('failed', `the gate no longer knows its import of the lines up to ${last}`, again);
      throw new Problem('failed', `the gate could not import the lines up to ${last}`, 'Its log says why.', again);
    }
    const { summary } = job;
    state.inserted += summary.inserted;
    state.updated += summary.updated;
    for (const { index, errors } of summary.failed > 0 ? await api.call('GET', `/jobs/${id}/errors`) : [])
      refuse(
        jobLines[index]!,
        errors.map(({ path, message }: Json) => (path ? `${path}: ${message}` : message)).join('; '),
      );
    state.line = last;
    forgetJob();
  };
  const send = async () => {
    if (users.length === 0) return;
    const form = new FormData();
    form.append('users', new Blob([JSON.stringify(users)], { type: 'application/json' }), 'users.json');
    for (const [name, value] of Object.entries(options)) form.append(name, value);
    state.job = await begin(api, form, signal);
    state.jobLines = lines;
    save();
    [users, lines, bytes] = [[], [], 0];
    await settle();
  };
  return {
    settle,
    send,
    /** Answers true if a part was sent. If `user` is a text, it says what is wrong with the line. */
    async add(line: number, user: Json | string): Promise<boolean> {
      const length = Buffer.byteLength(JSON.stringify(user)) + 1;
      const isTooLong = length > userMaxBytes;
      if (typeof user === 'string' || isTooLong) {
        await send();
        refuse(line, isTooLong ? `more than ${userMaxBytes} bytes, which the gate takes at most` : user);
        state.line = line;
        save();
        return true;
      }
      const isFull = bytes + length > partMaxBytes || users.length === partMaxUsers;
      if (isFull) await send();
      users.push(user);
      lines.push(line);
      bytes += length;
      return isFull;
    },
  };
}

/** Counts refused lines and gives the reason: for the first ones, or with `--json` for each. */
function makeRefuse({ out, json }: Pick<Context, 'out' | 'json'>, state: State) {
  let shown = 0;
  return (line: number, why: string): void => {
    state.failed += 1;
    shown += 1;
    if (json || shown <= shownMax) out.note(`line ${line}: ${clean(why)}`);
    else if (shown === shownMax + 1) out.note('… (--json names all of them)');
  };
}

async function findConnection(api: Api, name: string | undefined): Promise<{ id: string; name: string }> {
  const connections: Json[] = await api.call('GET', '/connections?strategy=auth0&per_page=100');
  const connection = name === undefined ? connections[0] : connections.find((one) => one.name === name);
  if (!connection)
    throw new Problem(
      'notFound',
      `there is no database connection${name === undefined ? '' : ` ${clean(name)}`}`,
      `There are: ${connections.map((one) => clean(one.name)).join(', ') || 'none'}`,
    );
  return connection;
}

/** Waits while others import. */
async function begin(api: Api, form: FormData, signal: AbortSignal): Promise<string> {
  for (;;)
    try {
      // Interrupted before the answer, nobody would know which job has these people.
      return (await api.ask('POST', '/jobs/users-imports', form, { uninterrupted: true })).body.id;
    } catch (error) {
      if (!(error instanceof Problem) || error.exit !== 'unreachable' || !error.message.includes('active import'))
        throw error;
      await sleep(1_000, undefined, { signal });
    }
}

/** The job once it has ended; undefined: there is none. */
async function ended(
  api: Api,
  id: string,
  signal: AbortSignal,
  told: (percent: number) => void,
): Promise<Json | undefined> {
  for (let pause = 50; ; pause = Math.min(2 * pause, 1_000)) {
    const job = await api.call('GET', `/jobs/${id}`).catch(toleratePast);
    if (job?.status !== 'pending') return job;
    told(job.percentage_done ?? 0);
    await sleep(pause, undefined, { signal });
  }
}

/** A 403 has the same exit code, and says nothing about the job. */
function toleratePast(error: unknown): undefined {
  if (!(error instanceof Problem) || error.status !== 404) throw error;
}
