/** Reads HTTP/1.1 answers from a plain socket, one at a time; only bodies with a `Content-Length`. */
import type { Socket } from 'node:net';

export type Answer = {
  status: number;
  /** A header's value; its name in lower case. */
  header(name: string): string | undefined;
  body(): string;
};

/** Returns a function that resolves to the next answer once its body is complete. @throws when the connection ends before that */
export function makeReader(socket: Socket): () => Promise<Answer> {
  let head: Buffer = nothing;
  let text = '';
  let body: Buffer[] = [];
  let bodyLeft = -1;
  let settle: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;
  socket.on('error', (error) => settle?.reject(error));
  socket.on('close', () => settle?.reject(new Error('the server closed the connection')));
  socket.on('data', (chunk) => {
    if (bodyLeft >= 0) {
      bodyLeft -= chunk.length;
      body.push(chunk);
    } else {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      text = head.toString('latin1', 0, end);
      const length = Number(/\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
      body = [head.subarray(end + 4)];
      bodyLeft = length - body[0]!.length;
      head = nothing;
    }
    if (bodyLeft > 0) return;
    const answer = { head: text, body };
    bodyLeft = -1;
    settle?.resolve({
      status: Number(answer.head.slice(9, 12)),
      header: (name) => new RegExp(`^${name}: (.*)$`, 'im').exec(answer.head)?.[1],
      body: () => Buffer.concat(answer.body).toString('utf8'),
    });
  });
  return () =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
}

const nothing = Buffer.alloc(0);
