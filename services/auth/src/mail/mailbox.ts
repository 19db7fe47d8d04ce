/**
 * The developer’s mailbox, on the ops port: the messages that the gate has sent, to read and click where there is no mail server. It is in
 * memory, and never exists in production. Anybody who can read it can become anyone, so it is shown only to this machine, and not to a
 * website that has given itself an address of this machine (DNS rebinding).
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { escapeHtml } from '@gatepost/api-docs/escape-html';
import { isLoopback } from '@gatepost/runtime/production';
import type { Mail, PostBox, TextMessage } from './post-box.ts';

type SentMail = { id: string; at: string; to: string; subject: string; text: string; html: string | undefined };

export type Mailbox = {
  /** Sends each message, and keeps it. */
  around(postBox: PostBox): PostBox;
  /** Answers a request for one of its pages; false for any other request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean;
};

/** Beyond either limit the oldest message is dropped. */
const keptMax = 100;
const charactersMax = 5_000_000;

/** Whether this is a developer’s machine: not reachable from outside, and without a configured mail server. */
export function hasMailbox(env: { NODE_ENV: string; HOST: string; ISSUER: string; MAIL_URL: string }): boolean {
  const issuer = URL.parse(env.ISSUER);
  return (
    env.NODE_ENV !== 'production' &&
    env.MAIL_URL.startsWith('file:') &&
    isLoopback(env.HOST) &&
    issuer !== null &&
    isLoopback(issuer.hostname)
  );
}

/** @param announce is called with each message in one line, including its whole link */
export function openMailbox(announce: (line: string) => void = () => {}): Mailbox {
  const kept: SentMail[] = [];
  const record = ({ to, subject, text, html }: Omit<SentMail, 'id' | 'at'>) => {
    kept.unshift({ id: randomBytes(9).toString('base64url'), at: new Date().toISOString(), to, subject, text, html });
    const sizes = kept.map((one) => one.text.length + (one.html?.length ?? 0));
    while (kept.length > keptMax || sizes.reduce((sum, size) => sum + size, 0) > charactersMax) {
      kept.pop();
      sizes.pop();
    }
    announce(oneLine(to, subject, text));
  };

  return {
    around: (postBox) => ({
      ...postBox,
      async sendMail(mail: Mail) {
        await postBox.sendMail(mail);
        record({ html: undefined, ...mail });
      },
      async sendText({ to, text }: TextMessage) {
        await postBox.sendText({ to, text });
        record({ to, subject: 'text message', text, html: undefined });
      },
    }),
    answer(request, response) {
      const [path = '', ...rest] = (request.url ?? '').split('?', 1)[0]!.split('/').slice(1);
      if (path !== 'mailbox' || request.method !== 'GET' || !isOfThisMachine(request)) return false;
      const [id, form] = rest;
      if (id === undefined || id === '') {
        send(response, page('Mailbox', list(kept), true));
        return true;
      }
      const message = kept.find((one) => one.id === id);
      if (!message) return false;
      if (form === 'html') sendHtml(response, message.html ?? '');
      else send(response, page(message.subject, show(message)));
      return true;
    },
  };
}

function isOfThisMachine({ headers, socket }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? '';
  return isLoopback(host) && isLoopback((socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
}

const links = /https?:\/\/[^\s<>"]+/g;

/** The link is never shortened, so that it is clickable in a terminal. */
function oneLine(to: string, subject: string, text: string): string {
  const [link] = text.match(links) ?? [];
  return [to, subject, link ?? text.split('\n', 1)[0]].join('  ').replace(/\p{Cc}+/gu, ' ');
}

function list(kept: SentMail[]): string {
  if (kept.length === 0) return '<p>Nothing has been sent since the gate started. What it sends appears here.</p>';
  const rows = kept.map(
    ({ id, at, to, subject }) =>
      `<tr><td><time datetime="${at}">${at.slice(11, 19)}</time><td>${escapeHtml(to)}<td><a href="/mailbox/${id}">${escapeHtml(subject)}</a>`,
  );
  return `<table><tr><th>Sent (UTC)<th>To<th>Subject${rows.join('')}</table>`;
}

function show({ id, at, to, text, html }: SentMail): string {
  const linked = escapeHtml(text).replace(
    /https?:\/\/[^\s<>"]+/g,
    (url) => `<a href="${url}" target="_blank" rel="noreferrer">${url}</a>`,
  );
  const frame =
    html === undefined
      ? ''
      : `<h2>HTML</h2><iframe src="/mailbox/${id}/html" title="The mail" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>`;
  return `<p><a href="/mailbox">All messages</a></p><p>To ${escapeHtml(to)}, ${at}</p><h2>Text</h2><pre>${linked}</pre>${frame}`;
}

const style =
  'body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.4rem .8rem .4rem 0;border-bottom:1px solid #8884;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;border:1px solid #8888}iframe{width:100%;height:44rem;border:1px solid #8888;background:#fff}';

function page(title: string, body: string, isFresh = false): string {
  const refresh = isFresh ? '<meta http-equiv="refresh" content="5">' : '';
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">${refresh}`;
  return `<!DOCTYPE html><html lang="en"><head>${head}<title>${escapeHtml(title)}</title><style>${style}</style></head><body><h1>${escapeHtml(title)}</h1>${body}</body></html>`;
}

function send(response: ServerResponse, html: string): void {
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  response.writeHead(200, headersWith(policy)).end(html);
}

/** As a mail program shows it: no scripts run, and links open elsewhere. */
function sendHtml(response: ServerResponse, html: string): void {
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";
  const base = '<base target="_blank">';
  const shown = /<head[^>]*>/i.test(html) ? html.replace(/<head[^>]*>/i, (head) => head + base) : base + html;
  response.writeHead(200, headersWith(policy)).end(shown);
}

function headersWith(policy: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

/** To the process that supervises this one and shows it to the developer; otherwise to the developer’s terminal. */
export function announceToDeveloper(line: string): void {
  if (process.send) process.send({ news: line });
  else process.stdout.write(`${line}\n`);
}
