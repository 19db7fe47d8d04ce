/** Messages that could not be accepted. */
import type { Context, Run } from '../command.ts';
import { confirm } from '../input.ts';
import { usage } from '../problem.ts';
import type { Json } from '../session/api.ts';
import { clean, cleanLines } from '../terminal.ts';

const letters = '/admin/dead-letters';

export const listLetters: Run = async ({ flags, session, out, json }) => {
  const reason = flags.text('reason');
  const { api } = await session();
  const { items } = await api.list(
    `${letters}${reason === undefined ? '' : `?reason=${encodeURIComponent(reason)}`}`,
    2_000,
  );
  if (json) return out.json(items);
  if (items.length === 0) return out.line(out.paint('green', 'There are no dead letters.'));
  out.table(
    ['ID', 'REASON', 'EVENT', 'SUBJECT', 'BYTES', 'DETAIL'],
    items.map((row) => [
      row.id,
      row.reason ?? '-',
      row.event ?? '-',
      row.subject ?? '-',
      String(row.bytes),
      row.detail ?? '-',
    ]),
  );
};

export const showLetter: Run = async ({ args, session, out, json }) => {
  const { api } = await session();
  const letter = await api.call('GET', `${letters}/${encodeURIComponent(args.ID!)}`);
  if (json) return out.json(letter);
  const { headers, payload, ...rest } = letter as Record<string, Json>;
  for (const [name, value] of [...Object.entries(rest), ...Object.entries(headers)])
    out.line(`${out.paint('cyan', clean(name))}: ${clean(typeof value === 'string' ? value : JSON.stringify(value))}`);
  out.line();
  out.line(cleanLines(payload));
};

export const publishLetters: Run = async (context) => {
  const { args, session, out, json } = context;
  const wanted = chosen(context);
  const { api } = await session();
  if (wanted === undefined) {
    await api.call('POST', `${letters}/${encodeURIComponent(args.ID!)}/attempts`);
    if (json) out.json({ published: 1, left: 0 });
    else out.line('It was published as it came, and removed from here.');
    return;
  }
  const { published, left } = await api.call('POST', `${letters}/attempts`, wanted);
  if (json) return out.json({ published, left });
  out.line(
    `${published} are published as they came${left > 0 ? `; ${left} stay: no events, no deliveries of ours, or refused for their producer, which takes an ID or --reason` : ''}.`,
  );
};

export const dropLetters: Run = async (context) => {
  const { args, session, out, json } = context;
  const wanted = chosen(context);
  const { api } = await session();
  if (wanted === undefined) {
    await api.call('DELETE', `${letters}/${encodeURIComponent(args.ID!)}`);
    if (json) out.json({ dropped: 1 });
    else out.line('It is dropped.');
    return;
  }
  await confirm(context, `Drop ${wanted.reason ? `those with the reason ${wanted.reason}` : 'all dead letters'}?`);
  const query = wanted.reason === undefined ? 'all=true' : `reason=${encodeURIComponent(wanted.reason)}`;
  const answer = await api.call('DELETE', `${letters}?${query}`);
  if (json) out.json(answer);
  else out.line(`${answer.dropped} are dropped.`);
};

/** Several letters by reason, or all; undefined: one by its id. */
function chosen({ args, flags }: Context): { reason?: string; all?: true } | undefined {
  const [reason, all] = [flags.text('reason'), flags.is('all')];
  if ([args.ID !== undefined, reason !== undefined, all].filter(Boolean).length !== 1)
    throw usage('which? One of ID, --reason REASON and --all', '`gatepost dead-letters list` shows what there is.');
  if (args.ID !== undefined) return undefined;
  return reason === undefined ? { all: true } : { reason };
}
