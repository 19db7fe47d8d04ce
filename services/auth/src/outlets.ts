/** The gate's outputs: the audit log, metrics, the webhooks, mail and text messages, and background work. */
import { fileURLToPath } from 'node:url';
import { makeGuard } from '@gatepost/runtime/address';
import { type Log, logOfModule } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import { openLastLogins } from './accounts/last-login.ts';
import { openAudit } from './audit.ts';
import { openBackground } from './background.ts';
import { type Env, outboxFolder } from './config.ts';
import { openCounters } from './counters.ts';
import { type EventSink, noEvents, openEventSink } from './event-sink.ts';
import { makeOutsideFetch } from './http/outside-fetch.ts';
import type { Infrastructure } from './infrastructure.ts';
import { announceToDeveloper, hasMailbox, openMailbox } from './mail/mailbox.ts';
import { openPostBox } from './mail/post-box.ts';
import { makeTextSender } from './mail/text-sender.ts';
import { makeRequestObserver } from './observe.ts';
import { makeIsBreached } from './protection/breached/source.ts';

export type Outlets = Awaited<ReturnType<typeof openOutlets>>;

export async function openOutlets({ env, log, stack, registry, pool }: Infrastructure) {
  const audit = stack.use(openAudit(pool, logOfModule(log, 'stores')));
  const lastLogins = stack.use(openLastLogins(pool, logOfModule(log, 'stores')));
  const sink = stack.use(await openSink(env, logOfModule(log, 'events'), registry));
  const outside = stack.adopt(openPostBox({ ...postBoxOptions(env), ...textSender(env) }), (opened) => opened.close());
  const announce = env.NODE_ENV === 'development' ? announceToDeveloper : undefined;
  const mailbox = hasMailbox(env) ? openMailbox(announce) : undefined;
  const postBox = mailbox?.around(outside) ?? outside;
  const background = stack.use(openBackground(logOfModule(log, 'mail')));
  const isBreached = makeIsBreached(env, logOfModule(log, 'protection'));
  const counters = openCounters(registry);
  const observe = makeRequestObserver(logOfModule(log, 'http'), registry);
  return { audit, counters, observe, lastLogins, sink, postBox, mailbox, background, isBreached };
}

async function openSink(env: Env, log: Log, registry: Registry): Promise<EventSink> {
  if (!env.EVENTS_ACCOUNT) return noEvents;
  // config.ts has checked that there is an AMQP_URL.
  return openEventSink({ amqpUrl: env.AMQP_URL!, issuer: env.ISSUER, account: env.EVENTS_ACCOUNT, log, registry });
}

function postBoxOptions(env: Env) {
  const isFolder = env.MAIL_URL.startsWith('file:');
  return { mailUrl: env.MAIL_URL, from: env.MAIL_FROM, outbox: isFolder ? fileURLToPath(env.MAIL_URL) : outboxFolder };
}

function textSender({ SMS_URL: url, SMS_FROM: from, SMS_FORMAT: format, OUTBOUND_ALLOWED_NETWORKS }: Env) {
  if (url === undefined) return {};
  const ask = makeOutsideFetch(makeGuard(OUTBOUND_ALLOWED_NETWORKS));
  return {
    sendText: makeTextSender({ url, from, format, ask: ask as (url: URL, init: RequestInit) => Promise<Response> }),
  };
}
