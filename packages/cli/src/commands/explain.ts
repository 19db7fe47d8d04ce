/** Why a delivery arrived, or did not: for one delivery, or for an event at a hook, at all hooks of a place, or in an account. */
import type { Context, Run } from '../command.ts';
import { inCommands } from '../hint.ts';
import { idOf, placeOf } from '../place.ts';
import { Problem, usage } from '../problem.ts';
import type { Json } from '../session/api.ts';
import { clean, type Output, type Style } from '../terminal.ts';

export const explain: Run = async (context) => {
  const { args, flags, out, json } = context;
  const found = /^\d{1,16}$/.test(args.WHAT!) ? await ofDelivery(context) : await ofEvent(context);
  if (json) return out.json(found);
  if (flags.text('account') !== undefined) return showAccount(out, found);
  for (const one of [found].flat()) showExplanation(out, one);
};

async function ofDelivery(context: Context): Promise<Json> {
  const hook = context.flags.text('hook');
  if (hook === undefined) throw usage('which hook is that delivery for?', '--hook HOOK');
  const path = `${placeOf(context).path}/hooks/${idOf(hook, '--hook')}/deliveries/${context.args.WHAT}/explain`;
  return (await context.session()).api.call('GET', path);
}

async function ofEvent(context: Context): Promise<Json> {
  const { args, flags, session } = context;
  const [account, hook] = [flags.text('account'), flags.text('hook')];
  const guid = encodeURIComponent(args.WHAT!);
  if (account !== undefined) {
    const { api } = await session();
    return api.call('GET', `/accounts/${encodeURIComponent(account)}/events/${guid}/explain`);
  }
  const place = placeOf(context);
  const { api } = await session();
  const at = (id: string | number) => api.call('GET', `${place.path}/hooks/${id}/explain?guid=${guid}`);
  if (hook !== undefined) return at(idOf(hook, '--hook'));
  const { items } = await api.list(`${place.path}/hooks`, 250);
  if (items.length === 0)
    throw new Problem(
      'notFound',
      `${place.name} has no hooks, so nothing is delivered`,
      'gatepost hooks create URL makes one.',
    );
  const bar = context.out.progress('asking', items.length);
  const all: Json[] = [];
  for (const { id } of items) {
    all.push(await at(id));
    bar.at(all.length);
  }
  bar.end();
  return all;
}

const styles: Record<string, Style> = { delivered: 'green', failed: 'red', never_made: 'red' };

const headline = (out: Output, { state, sentence }: Json): string =>
  `${out.paint(styles[state] ?? 'yellow', clean(String(state)))}  ${clean(sentence)}`;

function showExplanation(out: Output, one: Json, indent = ''): void {
  const say = (text: string) => out.line(indent + text);
  const event = one.event ? clean(one.action ? `${one.event}.${one.action}` : one.event) : 'Nothing is stored of it';
  say(
    `${out.paint('bold', `Hook ${one.hook_id}`)}  ${event}${one.place ? ` of ${clean(one.place)}` : ''}  ${clean(one.guid)}`,
  );
  say(headline(out, one));
  if (one.since) say(`since  ${clean(one.since)}`);
  if (one.until)
    say(`until  ${clean(one.until.at ?? 'nobody can say')}${one.until.reason ? `: ${clean(one.until.reason)}` : ''}`);
  showCauses(out, one, indent);
  if (one.next) say(`next   ${advice(one.next)}`);
  for (const { at, exact, step, attempt, sentence } of one.steps ?? [])
    say(
      `  ${clean(at ?? '?').padEnd(24)} ${exact === false ? '~' : ' '} ${clean(step)}${attempt ? ` ${attempt}` : ''}${sentence ? `: ${clean(sentence)}` : ''}`,
    );
  out.line();
}

const advice = (text: string): string => inCommands(clean(text));

/** Shows what the headline and the advice below do not say already. */
function showCauses(out: Output, { causes = [], sentence: headline, next: below }: Json, indent = ''): void {
  const shown = (causes as Json[]).filter(
    ({ sentence, reason, next }) =>
      reason || (next ?? null) !== (below ?? null) || !String(headline).endsWith(sentence),
  );
  for (const { certain, sentence, next, reason } of shown)
    out.line(
      `${indent}  ${certain ? '-' : '- perhaps:'} ${clean(sentence)}${reason ? ` (${clean(reason)})` : ''}${next && next !== below ? ` ${advice(next)}` : ''}`,
    );
}

function showAccount(out: Output, found: Json): void {
  out.line(headline(out, found));
  showCauses(out, found);
  if (found.next) out.line(`next   ${advice(found.next)}`);
  for (const event of found.events) {
    out.line();
    out.line(
      `${out.paint('bold', clean(event.event))} of ${clean(event.place ?? '?')} from ${clean(event.source)}, ${clean(event.occurred_at)}`,
    );
    for (const delivery of event.deliveries) showExplanation(out, delivery, '  ');
  }
  for (const { id, reason, detail } of found.dead_letters)
    out.line(`dead letter ${clean(id)}: ${clean(String(reason))} ${clean(detail ?? '')}`);
}
