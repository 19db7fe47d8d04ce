/**
 * The socket of a hook named `cli`, in the protocol of GitHub's command line with numbered deliveries (`gatepost.v1`,
 * docs/reference/webhooks-api.md#forwarding-to-a-command-line). The token is sent to the API itself, wherever the hook's `ws_url` leads.
 */
import type { WebSocket as Socket } from 'ws';
import { Problem } from '../problem.ts';
import { comeBackLater, type Json } from '../session/api.ts';
import type { Session } from '../session/session.ts';
import type { Delivery } from './delivery.ts';
import type { Outcome } from './forward.ts';

/** How to continue after a socket has ended: with the same hook, with a new one, or not at all. `waitMs`: no sooner than that. */
export type End = { kind: 'again' | 'anew'; why: string; waitMs?: number } | { kind: 'over'; problem: Problem };

/** The server pings every 10 s. */
const silenceMs = 45_000;
/** 25 MB in base64, plus headers. */
const frameMaxBytes = 64 * 1024 * 1024;

/** Holds the socket until it ends, answering each delivery with the result of `take`. @throws the reason with which `signal` is aborted */
export async function holdSocket(
  { profile, token }: Session,
  path: string,
  signal: AbortSignal,
  onOpen: () => void,
  take: (delivery: Delivery) => Promise<Outcome>,
): Promise<End> {
  const { WebSocket } = await import('ws');
  const url = `${profile.api.replace(/^http/, 'ws')}${path}/socket`;
  let authorization: string;
  try {
    authorization = await token();
  } catch (error) {
    // The token is renewed while the gate is away.
    if (error instanceof Problem && error.exit === 'unreachable') return { kind: 'again', why: error.message };
    throw error;
  }
  signal.throwIfAborted();
  const socket = new WebSocket(url, ['gatepost.v1'], {
    headers: { authorization },
    handshakeTimeout: 15_000,
    maxPayload: frameMaxBytes,
    perMessageDeflate: false,
    followRedirects: false,
  });
  return new Promise<End>((resolve, reject) => {
    const stop = () => {
      socket.close(1000);
      setTimeout(() => socket.terminate(), 1_000).unref();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    let silence: NodeJS.Timeout | undefined;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => socket.terminate(), silenceMs);
    };
    const end = (why: End) => {
      clearTimeout(silence);
      signal.removeEventListener('abort', stop);
      resolve(why);
    };
    socket.on('open', () => {
      alive();
      onOpen();
    });
    socket.on('ping', alive);
    socket.on('message', (data) => {
      alive();
      // It violates the protocol, or the command ends, which closes the socket.
      void answer(socket, String(data), take).catch(() => signal.aborted || socket.terminate());
    });
    socket.on('unexpected-response', (_, response) => {
      response.resume();
      socket.terminate();
      end(refusal(response.statusCode ?? 0, new Headers(response.headers as Record<string, string>)));
    });
    socket.on('error', (error) => end({ kind: 'again', why: error.message }));
    socket.on('close', (code, reason) => end(endOf(code, reason.toString())));
  });
}

async function answer(socket: Socket, text: string, take: (delivery: Delivery) => Promise<Outcome>): Promise<void> {
  const { Id: id = '', Header: headers, Body: body } = JSON.parse(text) as Json;
  const outcome = await take({ id, headers, body: Buffer.from(body ?? '', 'base64') });
  if (socket.readyState !== socket.OPEN) return; // the attempt has failed by then, and will be made again
  const said =
    'error' in outcome
      ? { Id: id, Error: outcome.error.slice(0, 200) }
      : { Id: id, Status: outcome.status, Header: outcome.headers, Body: outcome.body.toString('base64') };
  socket.send(JSON.stringify(said));
}

function refusal(status: number, headers: Headers): End {
  if (status === 404) return { kind: 'anew', why: 'the hook is gone' };
  const later = comeBackLater(status, headers);
  if (later)
    return { kind: 'again', why: `the API answers ${status}, to be asked again ${later.when}`, waitMs: later.waitMs };
  if (status === 401)
    return { kind: 'over', problem: new Problem('notSignedIn', 'the token is no longer valid', 'gatepost login') };
  return { kind: 'over', problem: new Problem('refused', `the API refuses the socket: ${status}`) };
}

function endOf(code: number, reason: string): End {
  const over = (message: string, ...next: string[]): End => ({
    kind: 'over',
    problem: new Problem('failed', message, ...next),
  });
  switch (code) {
    case 4403:
      return over('you may not manage this hook any more', '`gatepost whoami` shows who you are here.');
    case 4404:
      return over('somebody has deleted the hook');
    case 4409:
      return over('another listener has taken this hook over');
    case 1007:
    case 1008:
    case 1009:
      return { kind: 'anew', why: reason || `closed with ${code}` };
    default:
      return { kind: 'again', why: reason || (code === 1006 ? 'the connection broke' : `closed with ${code}`) };
  }
}
