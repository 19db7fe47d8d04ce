/** Sends messages: mail by SMTP or into an outbox folder, text messages through a provider. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Transporter } from 'nodemailer';

export type Mail = {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** Replaces the default sender. */
  from?: string;
};
export type TextMessage = { to: string; text: string };

export type PostBox = {
  sendMail(mail: Mail): Promise<void>;
  sendText(message: TextMessage): Promise<void>;
  close(): void;
};

/**
 * How long a mail server may take for its greeting, from the first look-up of its name on, and then for each answer. Another try follows
 * (background.ts). The URL’s own query has precedence: `?socketTimeout=60000`.
 */
const patience = { connectionTimeout: 10_000, socketTimeout: 30_000 };

/** The interface of a text message provider: text-sender.ts, or by default the outbox. */
export type TextProvider = (message: TextMessage) => Promise<void>;

/** @param mailUrl `smtp:`, `smtps:`, or `file:` of a folder that gets one `.eml` per mail */
export function openPostBox(options: {
  mailUrl: string;
  from: string;
  outbox: string;
  sendText?: TextProvider;
}): PostBox {
  const { from, outbox } = options;
  const sendText: TextProvider =
    options.sendText ??
    // The number on the first line, the text below.
    (({ to, text }) => putInto(outbox, `${to}\n${text}\n`, 'sms'));
  const isFolder = options.mailUrl.startsWith('file:');
  let opened: Promise<Transporter<{ message?: unknown }>> | undefined;
  const open = async () => {
    const { createTransport } = await import('nodemailer'); // loaded with the first mail, since it would delay startup
    if (isFolder) return createTransport({ streamTransport: true, buffer: true, newline: 'unix' }, { from });
    return createTransport({ url: options.mailUrl, ...patience }, { from });
  };
  return {
    async sendMail(mail) {
      opened ??= open();
      const { message } = await (await opened).sendMail(mail);
      if (isFolder) await putInto(fileURLToPath(options.mailUrl), message as Buffer, 'eml');
    },
    sendText,
    // The sender has already been told why it could not be opened.
    close: () => void opened?.then((transport) => transport.close()).catch(() => {}),
  };
}

/** How many messages an outbox folder keeps: nobody else empties it, and in a container it is small. */
const keptMax = 1_000;
const isMessage = (name: string) => /^\d{4}-[\dTZ-]+-[0-9a-f]{8}\.(eml|sms)$/.test(name);

/** Readers of the folder see only complete files, in the order in which they were written. The oldest make room for new ones. */
async function putInto(folder: string, content: string | Buffer, extension: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const name = `${new Date().toISOString().replace(/[:.]/g, '-')}-${randomBytes(4).toString('hex')}.${extension}`;
  await writeFile(join(folder, `.${name}`), content, { mode: 0o600 });
  await rename(join(folder, `.${name}`), join(folder, name));
  const messages = (await readdir(folder)).filter(isMessage).sort();
  for (const old of messages.slice(0, -keptMax)) await rm(join(folder, old), { force: true }); // another may have done so
}
