/** Is this receiver correct? Runs the checks one after the other against a running receiver. */
import { type Check, checks, type Hook } from './checks.ts';
import { openSend } from './request.ts';

export type Result = {
  name: string;
  /** `advice`: it works, but could be better. */
  result: 'passed' | 'failed' | 'advice';
  /** What it did instead; null when it passed. */
  instead: string | null;
  why: string;
  ms: number;
};

export type VerifyOptions = Hook & { url: URL; timeoutMs: number; signal?: AbortSignal };

/** Yields each result as it becomes known. Stops if the first check fails, since the others would then mean nothing. */
export async function* verify({ url, timeoutMs, signal, ...hook }: VerifyOptions): AsyncGenerator<Result> {
  const send = openSend(url, hook.secret, timeoutMs, signal);
  for (const [index, check] of checks.filter(({ asked }) => asked?.(hook) ?? true).entries()) {
    const result = await runCheck(check, () => check.run(send, hook));
    signal?.throwIfAborted();
    yield result;
    if (index === 0 && result.result === 'failed') return;
  }
}

async function runCheck({ name, why, must }: Check, run: () => Promise<string | null>): Promise<Result> {
  const began = performance.now();
  const instead = await run();
  const result = instead === null ? 'passed' : must ? 'failed' : 'advice';
  return { name, result, instead, why, ms: Math.round(performance.now() - began) };
}
