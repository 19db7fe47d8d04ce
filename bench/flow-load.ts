/**
 * People who are already logged in return to the application (SSO), in a separate process: each connection has a session, and repeatedly
 * gets a code without a page and exchanges it.
 */
import { connect } from 'node:net';
import { type Answer, makeReader } from './http-reader.ts';

export type FlowLoad = {
  port: number;
  /** The `Cookie` header of each connection. */
  cookies: string[];
  /** The authorization request's path and query. */
  authorizePath: string;
  /** The token request's body, without the code. */
  form: string;
  /** The body of the refresh after each exchange, without the token; undefined: no refresh. */
  refreshForm?: string;
  /** For refreshes only, repeated: the first refresh token of each connection. */
  refreshTokens?: string[];
  seconds: number;
  /** Continues beyond the time until this many flows are done. */
  flows?: number;
};

export type FlowReport = {
  flows: number;
  failed: number;
  seconds: number;
  /** Milliseconds per flow, both requests together. */
  latencies: number[];
  /** The answer to the first flow that failed. */
  failure?: string;
};

process.once('message', async (load: FlowLoad) => {
  process.send?.(await run(load));
  process.disconnect();
});

async function run(load: FlowLoad): Promise<FlowReport> {
  const report: FlowReport = { flows: 0, failed: 0, seconds: 0, latencies: [] };
  const startedAt = performance.now();
  const endsAt = startedAt + load.seconds * 1_000;
  const goesOn = () => performance.now() < endsAt || report.flows < (load.flows ?? 0);
  await Promise.all(
    load.cookies.map((cookie, index) => flowAfterFlow(load, cookie, load.refreshTokens?.[index], goesOn, report)),
  );
  report.seconds = (performance.now() - startedAt) / 1_000;
  return report;
}

async function flowAfterFlow(
  load: FlowLoad,
  cookie: string,
  refreshToken: string | undefined,
  goesOn: () => boolean,
  report: FlowReport,
): Promise<void> {
  const socket = connect(load.port, '127.0.0.1');
  socket.setNoDelay(true);
  const read = makeReader(socket);
  const ask = (text: string): Promise<Answer> => {
    socket.write(text);
    return read();
  };
  const post = (body: string): Promise<Answer> => {
    const type = 'Content-Type: application/x-www-form-urlencoded';
    return ask(`POST /oauth/token HTTP/1.1\r\n${host}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
  const host = `Host: 127.0.0.1:${load.port}`;
  const authorize = `GET ${load.authorizePath} HTTP/1.1\r\n${host}\r\nAccept: text/html\r\nCookie: ${cookie}\r\n\r\n`;
  const refresh = (token: string) => post(`${load.refreshForm}&refresh_token=${token}`);
  for (let token = refreshToken; token !== undefined && goesOn(); ) {
    const from = performance.now();
    const answer = await refresh(token);
    report.flows += 1;
    report.latencies.push(performance.now() - from);
    ({ refresh_token: token } = JSON.parse(answer.body()) as { refresh_token?: string });
    if (token !== undefined) continue;
    report.failed += 1;
    report.failure ??= `${answer.status} ${answer.body()}`.slice(0, 500);
  }
  while (refreshToken === undefined && goesOn()) {
    const from = performance.now();
    let answer = await ask(authorize);
    const code = /[?&]code=([^&]+)/.exec(answer.header('location') ?? '')?.[1];
    if (code) answer = await post(`${load.form}&code=${code}`);
    if (load.refreshForm && answer.status === 200) {
      answer = await refresh((JSON.parse(answer.body()) as { refresh_token: string }).refresh_token);
    }
    report.flows += 1;
    report.latencies.push(performance.now() - from);
    if (code && answer.status === 200) continue;
    report.failed += 1;
    report.failure ??= `${answer.status} ${answer.header('location') ?? ''} ${answer.body()}`.slice(0, 500);
  }
  socket.destroy();
}
