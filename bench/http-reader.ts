/** Reads HTTP/1.1 answers off a plain socket, one at a time; bodies with a `Content-Length` only. */
import type { Socket } from 'node:net';

export type Answer = {
  status: number;
  /** The value of a header; its name in lower case. */
  header(name: string): string | undefined;
  body(): string;
};

/** Makes a function that resolves to the next answer once its body is there. @throws when the connection ends before that */
export function makeReader(socket: Socket): () => Promise<Answer> {
  let head = '';
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
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/^content-length: (\d+)/im.exec(head.slice(0, end))?.[1] ?? 0);
      const here = head.length - end - 4;
      bodyLeft = length - here;
      body = [chunk.subarray(chunk.length - here)];
      head = head.slice(0, end);
    }
    if (bodyLeft > 0) return;
    const answer = { head, body };
    head = '';
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
