/** `npm run ops`: each command is a request or two to the webhook API or to the gate's management API, and shows what it answers. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { Context } from '../local/commands/command.ts';
import { readServicesEnv, webhookApiUrl } from '../local/commands/environment.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { type Call, openCalls } from './calls.ts';

const options = {
  reason: { type: 'string' },
  all: { type: 'boolean' },
  hook: { type: 'string' },
  overlap: { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const;

type Given = { words: string[]; flags: ReturnType<typeof parse>['values'] };
const parse = (args: string[]) => parseArgs({ args, options, allowPositionals: true });

const help = () => readFileSync(new URL('main-help.txt', import.meta.url), 'utf8').trimEnd();

export default async function ops({ args, env, home }: Pick<Context, 'args' | 'env' | 'home'>): Promise<number> {
  let given: Given;
  try {
    const { positionals, values } = parse(args);
    given = { words: positionals, flags: values };
  } catch (error) {
    throw new Trouble((error as Error).message, help());
  }
  const [name = '', ...words] = given.words;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new Trouble(name ? `there is no command \`${name}\`` : 'which command?', help());
  refuseMore(name, words, given.flags);
  const known: NodeJS.Dict<string> = { ...readServicesEnv(home), ...env };
  const calls = openCalls({ ...known, WEBHOOK_API_URL: webhookApiUrl(known as NodeJS.ProcessEnv) });
  const answer = await command({ words, flags: given.flags }, calls);
  process.stdout.write(`${typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2)}\n`);
  return 0;
}

/** How many words a command takes, and which flags: one that changes nothing might have been meant to hold it back. */
const takes: Record<string, [number, ...(keyof typeof options)[]]> = {
  find: [1],
  waiting: [1],
  'dead-letters': [2, 'reason', 'all'],
  pause: [1, 'hook'],
  resume: [1, 'hook'],
  secret: [2, 'overlap'],
  delete: [1, 'dry-run'],
  'log-level': [3],
};

function refuseMore(name: string, words: string[], flags: object): void {
  const [most, ...known] = takes[name] ?? [0];
  const unknown = Object.keys(flags).filter((flag) => !known.some((one) => one === flag));
  const more = [...words.slice(most), ...unknown.map((flag) => `--${flag}`)];
  if (more.length > 0) throw new Trouble(`\`${name}\` does not take ${more.join(' ')}`, help());
}

type Calls = { post: Call; gate: Call; ops: (url: string) => Call };

const commands: Record<string, (given: Given, calls: Calls) => Promise<unknown>> = {
  status: (_, { post }) => post('GET', '/admin/status'),
  find: ({ words: [guid] }, { post }) => post('GET', `/admin/events/${named(guid, 'GUID')}`),
  waiting: ({ words: [login] }, { post }) =>
    post('GET', `/accounts/${named(login, 'ORGANIZATION')}/waiting?per_page=100`),
  'dead-letters': deadLetters,
  pause: (given, { post }) => post('PUT', `${pausable(given)}/pause`),
  resume: (given, { post }) => post('DELETE', `${pausable(given)}/pause`),
  secret: changeSecret,
  reseal,
  organizations: (_, { post }) => post('GET', '/admin/organizations?per_page=100'),
  delete: ({ words: [login], flags }, { post }) =>
    post('DELETE', `/admin/organizations/${named(login, 'ORGANIZATION')}${flags['dry-run'] ? '?dry_run=true' : ''}`),
  'log-level': ({ words: [url, ...rest] }, calls) => {
    const call = calls.ops(named(url, 'OPS-URL', String));
    const [level, module] = rest.toReversed();
    return level ? call('PUT', '/log-level', { ...(module && { module }), level }) : call('GET', '/log-level');
  },
};

function deadLetters({ words: [what = '', id], flags: { reason, all } }: Given, { post }: Calls): Promise<unknown> {
  if (!['list', 'show', 'publish', 'drop'].includes(what))
    throw new Trouble('dead-letters: list, show, publish or drop?', help());
  const letters = '/admin/dead-letters';
  const query = reason === undefined ? '' : `reason=${encodeURIComponent(reason)}`;
  if (what === 'list' && id === undefined && !all) return post('GET', `${letters}?per_page=100&${query}`);
  const given = [id, reason, all].filter((one) => one !== undefined).length;
  if (given > 1 || what === 'list' || (what === 'show' && id === undefined && given > 0))
    throw new Trouble(`dead-letters ${what}: which?`, help());
  if (given === 0 || id !== undefined) {
    const letter = `${letters}/${named(id, 'ID')}`;
    if (what === 'show') return post('GET', letter);
    return what === 'publish' ? post('POST', `${letter}/attempts`) : post('DELETE', letter);
  }
  if (what === 'drop') return post('DELETE', `${letters}?${query || 'all=true'}`);
  return post('POST', `${letters}/attempts`, reason === undefined ? { all: true } : { reason });
}

async function changeSecret({ words: [place, hook], flags: { overlap } }: Given, { post }: Calls): Promise<unknown> {
  const [login, repository] = named(place, 'ORGANIZATION', String).split('/');
  const at = repository ? `/repos/${login}/${repository}` : `/orgs/${login}`;
  const path = `${at}/hooks/${named(hook, 'HOOK')}/config`;
  if (overlap !== undefined && !/^\d{1,4}$/.test(overlap)) throw new Trouble('--overlap: how many hours?', help());
  const secret = (await text(process.stdin)).trim();
  if (!secret) throw new Trouble('the new secret is read from standard input, which is empty');
  const until = overlap && new Date(Date.now() + Number(overlap) * 3_600_000).toISOString();
  return post('PATCH', path, { secret, ...(until && { previous_secret_until: until }) });
}

async function reseal(_: Given, { post, gate }: Calls): Promise<string> {
  type Part = { resealed: number; unreadable: number[]; next: number | null };
  await gate('POST', '/keys/encryption/rekey');
  let hooks = 0;
  const unreadable: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const part = (await post('POST', '/admin/secrets/reseal', { after })) as Part;
    hooks += part.resealed;
    unreadable.push(...part.unreadable);
    after = part.next;
  }
  const but = unreadable.length > 0 ? `; neither key opens those of the hooks ${unreadable.join(', ')}` : '';
  return `sealed under SECRETS_KEY: the secrets of ${hooks} hooks that were not, and all that the gate keeps${but}`;
}

function pausable({ words: [login], flags: { hook } }: Given): string {
  if (hook === undefined) return `/admin/organizations/${named(login, 'ORGANIZATION')}`;
  if (login !== undefined) throw new Trouble('an organization, or a hook?', help());
  return `/admin/hooks/${named(hook, 'ID')}`;
}

function named(word: string | undefined, what: string, write = encodeURIComponent): string {
  if (!word) throw new Trouble(`${what} is missing`, help());
  return write(word);
}
