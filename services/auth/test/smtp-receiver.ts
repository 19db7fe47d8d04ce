/** A mail server of a test's own, and what has arrived there. */
import type { AddressInfo } from 'node:net';
import { until } from '@gatepost/testkit/until';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export type SmtpReceiver = AsyncDisposable & {
  url: string;
  arrived: Email[];
  /** The next mail to an address, counted from its `seen`th. */
  mailTo(address: string, seen?: number): Promise<Email>;
};

export async function openSmtpReceiver(): Promise<SmtpReceiver> {
  const arrived: Email[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          arrived.push(mail);
          done();
        }, done);
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    arrived,
    mailTo: (address, seen = 0) =>
      until(`a mail to ${address}`, () => arrived.filter(({ to }) => to?.some((one) => one.address === address))[seen]),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
