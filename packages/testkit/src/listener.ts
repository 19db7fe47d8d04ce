/**
 * A client for the protocol of GitHub's command line extension: cli/gh-webhook, webhook/forward.go (`dial`, `handleWebsocket`). It opens the
 * WebSocket with the bare token, and handles one frame at a time; an answer is sent unless its receiver could not be reached. Like
 * gorilla/websocket it answers a ping only when it reads on, hence after everything sent before.
 */
import { WebSocket } from 'ws';

export type Frame = {
  id: string | undefined;
  /** In the form of Go's `http.Header`. */
  header: Record<string, string[]>;
  body: Buffer;
};

export type FrameAnswer =
  | { Status?: number; Header?: Record<string, string[]>; Body?: string; Error?: string }
  | string;

export type Listening = AsyncDisposable & {
  frames: Frame[];
  protocol: string;
  closed: Promise<{ code: number; reason: string }>;
  send(text: string): void;
  close(): void;
  /** Breaks the connection. */
  cut(): void;
  /** Stops reading. */
  pause(): void;
};

/** Why no WebSocket was opened. */
export class Refused extends Error {
  override name = 'Refused';
  readonly status: number;
  readonly body: string;
  constructor(status: number, body: string) {
    super(`answered ${status}: ${body.slice(0, 300)}`);
    this.status = status;
    this.body = body;
  }
}

const ok: FrameAnswer = { Status: 200, Header: { 'Content-Type': ['text/plain'] }, Body: 'T0s=' };

/**
 * Opens it. `answer`: the reply to a frame; undefined: none is sent. With `protocol`, answers repeat the frame's id, and frames are handled
 * concurrently. @throws Refused.
 */
export async function openListener(options: {
  url: string;
  token?: string;
  headers?: Record<string, string>;
  protocol?: string;
  answer?: (frame: Frame) => FrameAnswer | undefined | Promise<FrameAnswer | undefined>;
}): Promise<Listening> {
  const { answer = () => ok } = options;
  const headers = { ...(options.token !== undefined && { Authorization: options.token }), ...options.headers };
  const socket = new WebSocket(options.url, options.protocol ?? [], { headers, autoPong: false, maxPayload: 2 ** 27 });
  const frames: Frame[] = [];
  let turn: Promise<unknown> = Promise.resolve();

  const handle = async (frame: Frame) => {
    const given = await answer(frame);
    if (given === undefined || socket.readyState !== WebSocket.OPEN) return;
    if (typeof given === 'string') return socket.send(given);
    socket.send(JSON.stringify(frame.id === undefined ? given : { Id: frame.id, ...given }));
  };
  socket.on('message', (data) => {
    const { Id: id, Header: header, Body: body } = JSON.parse(String(data));
    const frame = { id, header, body: Buffer.from(body, 'base64') };
    frames.push(frame);
    turn = options.protocol ? handle(frame) : turn.then(() => handle(frame));
  });
  socket.on('ping', (data) => {
    turn = turn.then(() => socket.readyState === WebSocket.OPEN && socket.pong(data));
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () => resolve());
    socket.on('error', reject);
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => reject(new Refused(response.statusCode ?? 0, body)));
    });
  });
  return {
    frames,
    protocol: socket.protocol,
    closed,
    send: (text) => socket.send(text),
    close: () => socket.close(1000),
    cut: () => socket.terminate(),
    pause: () => socket.pause(),
    async [Symbol.asyncDispose]() {
      socket.terminate();
      if (socket.readyState !== WebSocket.CLOSED) await closed;
    },
  };
}
