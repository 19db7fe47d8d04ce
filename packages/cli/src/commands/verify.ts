/** `verify`: prints the result of each check on a line as soon as it is known, with why it matters. */
import type { Context, Run } from '../command.ts';
import { readSecret } from '../input.ts';
import { Problem, usage } from '../problem.ts';
import { clean } from '../terminal.ts';
import { type Result, verify } from '../verify/verify.ts';

export const verifyReceiver: Run = async (context) => {
  const { args, flags, json, out, signal } = context;
  const url = urlOf(args.URL!);
  const secret = await secretOf(context);
  const contentType = (flags.text('content-type') ?? 'both') as 'json' | 'form' | 'both';
  const timeoutMs = Math.ceil(secondsOf(flags.text('timeout') ?? '10') * 1000);
  const results: Result[] = [];
  for await (const result of verify({ url, secret, contentType, timeoutMs, signal })) {
    results.push(result);
    if (!json) showResult(context, result);
  }
  const count = (wanted: Result['result']) => results.filter(({ result }) => result === wanted).length;
  const [passed, advice, failed] = [count('passed'), count('advice'), count('failed')];
  if (json) out.json({ url: url.href, passed, advice, failed, checks: results });
  else out.line();
  const verdict = `${passed} passed, ${advice} could be better, ${failed} failed`;
  if (failed > 0 || (advice > 0 && flags.is('strict'))) throw new Problem('failed', verdict, ...nextOf(results));
  if (!json) out.line(verdict);
};

/** If the first check fails, the reason is a simple one. */
function nextOf([first]: Result[]): string[] {
  if (first?.result !== 'failed') return [];
  return /40[13]/.test(first.instead ?? '')
    ? ['Has the receiver the same secret?']
    : ['Does it run, at this address, and does it take a POST there?'];
}

const marks = { passed: ['green', 'passed'], advice: ['yellow', 'advice'], failed: ['red', 'failed'] } as const;

function showResult({ out }: Context, { name, result, instead, why, ms }: Result): void {
  const [style, word] = marks[result];
  const time = `${ms} ms`.padStart(9);
  const said = `${name}${instead === null ? '' : `: ${clean(instead)}`}`;
  out.line(`${out.paint(style, word)}  ${time}  ${said.padEnd(38)}  ${out.paint('dim', why)}`);
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw usage(`${text} is no http or https URL`, 'It is the address of the receiver: http://localhost:3000/hook');
  return url;
}

async function secretOf({ flags, env }: Context): Promise<string> {
  const file = flags.text('secret-file');
  const secret = file ? await readSecret(file, 'the secret') : (flags.text('secret') ?? env.GATEPOST_WEBHOOK_SECRET);
  if (!secret) throw usage('the secret is missing', '--secret, --secret-file or GATEPOST_WEBHOOK_SECRET');
  return secret;
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 600)) throw usage('--timeout is a number of seconds up to 600');
  return seconds;
}
