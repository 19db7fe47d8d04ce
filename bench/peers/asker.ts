/** Asks a gate repeatedly, in a separate process: the same request, a whole code flow, or one refresh after another. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { cpuOf, type Parts } from './cost.ts';
import { asker } from './http.ts';
import { type Ask, type CodeFlow, fill, render, type Values } from './target.ts';

export type Asking = {
  values: Values;
  parts: Parts;
  /** If the row needs it, each connection logs in first. */
  code?: CodeFlow;
  row: { ask: Ask } | 'code' | 'refresh';
  /** Supplies `{{access_token}}` if there is no code flow. */
  clientCredentials?: Ask;
  connections: number;
  seconds: number;
};

export type Asked = {
  done: number;
  failed: number;
  failure?: string;
  seconds: number;
  latencies: number[];
  cpuSeconds: number;
  /** CPU seconds of the parts, before and after the measured requests, without the logins. */
  before: Record<string, number>;
  after: Record<string, number>;
};

const { code_verifier: verifier, code_challenge: challenge } = pkce();
const pagesMax = 8;

process.once('message', async (asking: Asking) => {
  process.send?.(await run(asking), undefined, undefined, () => process.disconnect());
});

async function run({ values, parts, code, row, clientCredentials, connections, seconds }: Asking): Promise<Asked> {
  const report: Asked = { done: 0, failed: 0, seconds: 0, latencies: [], cpuSeconds: 0, before: {}, after: {} };
  const ask = asker(connections);
  const tokens = async (asked: Ask, more: Values) => {
    const { status, text } = await ask(render(fill(asked, { ...values, ...more })));
    if (status !== 200) throw new Error(`${asked.url} answered ${status} ${text.slice(0, 200)}`);
    return JSON.parse(text) as { access_token: string; refresh_token?: string };
  };
  const work = await Promise.all(Array.from({ length: connections }, () => prepare()));
  report.before = cpuOf(parts);
  const usedBefore = process.cpuUsage();
  const startedAt = performance.now();
  await Promise.all(work.map((once) => repeat(once)));
  report.seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(usedBefore);
  report.cpuSeconds = (user + system) / 1e6;
  report.after = cpuOf(parts);
  ask.close();
  return report;

  /** What one connection repeats. */
  async function prepare(): Promise<() => Promise<void>> {
    const flow = code && flowOf(code);
    if (row === 'code') {
      await flow!();
      return async () => void (await flow!());
    }
    if (row === 'refresh') {
      let { refresh_token: refreshToken } = await flow!();
      if (!refreshToken) throw new Error('the code flow brought no refresh token');
      return async () => {
        const answer = await tokens(code!.refresh!, { refresh_token: refreshToken! });
        refreshToken = answer.refresh_token ?? refreshToken;
      };
    }
    const needsToken = JSON.stringify(row.ask).includes('{{access_token}}');
    const { access_token = '' } = needsToken ? await (flow?.() ?? tokens(clientCredentials!, {})) : {};
    const rendered = render(fill(row.ask, { ...values, access_token }));
    return async () => {
      const { status, text } = await ask(rendered);
      if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
    };
  }

  /** A browser's path to a code, and from there to tokens: fills in pages as long as there are any; with a session there are none. */
  function flowOf({ authorize, fill: fields, exchange }: CodeFlow) {
    const url = fill(authorize, { ...values, challenge });
    const browser = new Browser({ issuer: url });
    return async () => {
      let page = await browser.get(url);
      for (let count = 0; !page.location && page.forms.length > 0 && count < pagesMax; count += 1)
        page = await browser.submit(page, fields);
      const got = page.location?.searchParams.get('code');
      if (!got) throw new Error(`no code, but ${page.status} ${page.location?.search ?? page.html.slice(0, 200)}`);
      return tokens(exchange, { code: got, verifier });
    };
  }

  async function repeat(once: () => Promise<void>): Promise<void> {
    while (performance.now() - startedAt < seconds * 1_000) {
      const from = performance.now();
      try {
        await once();
        report.done += 1;
        report.latencies.push(performance.now() - from);
      } catch (error) {
        report.failed += 1;
        report.failure ??= (error as Error).message;
        if (report.failed > 100 && report.done === 0) return;
      }
    }
  }
}
