/** Runs the packed command line as a program. */
import { execFile, spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inherited } from '@gatepost/testkit/system';

export type Ended = { code: number; out: string; err: string };
type More = { env?: Record<string, string>; input?: string; seen?: (text: string) => void; signal?: AbortSignal };

export type PackedCli = {
  /** Runs it to its end; `seen` gets its entire output so far. */
  run(args: string[], more?: More): Promise<Ended>;
  /** The JSON answer of a command. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer's JSON, of which each test expects what it names
  json(...args: string[]): Promise<any>;
};

/** @param config its folder of profiles */
export async function packCli(folder: string, config: string): Promise<PackedCli> {
  const pack = fileURLToPath(new URL('../packages/cli/bundle.ts', import.meta.url));
  await promisify(execFile)(process.execPath, [pack, join(folder, 'packed')]);
  // The dependencies that would be installed beside it.
  symlinkSync(
    fileURLToPath(new URL('../packages/cli/node_modules', import.meta.url)),
    join(folder, 'packed/node_modules'),
  );
  const program = join(folder, 'packed/lib/gatepost.js');
  const run: PackedCli['run'] = (args, more = {}) => {
    const env = { ...inherited, GATEPOST_CONFIG_DIR: config, GATEPOST_REPO: 'acme/widgets', ...more.env };
    const child = spawn(process.execPath, [program, ...args], { env });
    const written = { out: '', err: '' };
    for (const [name, stream] of [
      ['out', child.stdout],
      ['err', child.stderr],
    ] as const)
      stream.setEncoding('utf8').on('data', (text: string) => {
        written[name] += text;
        more.seen?.(written.out + written.err);
      });
    more.signal?.addEventListener('abort', () => child.kill('SIGINT'));
    child.stdin.on('error', () => {}).end(more.input);
    return new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, ...written })));
  };
  return {
    run,
    async json(...args) {
      const { code, out, err } = await run([...args, '--json']);
      if (code !== 0) throw new Error(`${args.join(' ')}: ${code}\n${err}`);
      return JSON.parse(out);
    },
  };
}
