/** All commands: the source of the parser, help, completions and docs/cli.md. */
import { adminCommands } from './admin-table.ts';
import type { Argument, Command, Option } from './command.ts';
import { placeOptions } from './place.ts';
import { sampleEvents } from './samples/events.ts';

export const globalOptions: readonly Option[] = [
  { name: 'api', value: 'URL', summary: 'the webhook API, one of those you are signed in to (else GATEPOST_API)' },
  { name: 'profile', value: 'NAME', summary: 'the sign-in with this name (else GATEPOST_PROFILE)' },
  { name: 'json', summary: 'the answer as JSON; ongoing output as one item per line' },
  { name: 'help', summary: 'show what a command does and takes' },
];

export const environment: readonly { name: string; summary: string }[] = [
  { name: 'GATEPOST_API', summary: 'the webhook API, like `--api`' },
  { name: 'GATEPOST_PROFILE', summary: 'the sign-in with this name, like `--profile`' },
  { name: 'GATEPOST_REPO', summary: 'the repository, if neither `--repo` nor `--org` is given' },
  { name: 'GATEPOST_TOKEN', summary: 'an access token instead of a sign-in, with GATEPOST_API' },
  {
    name: 'GATEPOST_CLIENT_ID',
    summary: 'a machine instead of a sign-in, with its secret and GATEPOST_API; for `login`, like `--client-id`',
  },
  { name: 'GATEPOST_CLIENT_SECRET', summary: 'its secret' },
  { name: 'GATEPOST_ISSUER', summary: 'the gate, like `login --issuer`' },
  { name: 'GATEPOST_AUDIENCE', summary: 'the API’s identifier, like `login --audience`' },
  { name: 'GATEPOST_WEBHOOK_SECRET', summary: 'a hook’s secret, instead of `--secret-file`, except for `hooks edit`' },
  { name: 'GATEPOST_OPS_TOKEN', summary: 'the token of the ops ports, if they have one (for `log-level`)' },
  {
    name: 'GATEPOST_CONFIG_DIR',
    summary: 'where sign-ins are kept (default: gatepost in XDG_CONFIG_HOME or ~/.config)',
  },
  { name: 'GATEPOST_NO_KEYRING', summary: 'keep tokens in a file' },
  { name: 'GATEPOST_ALLOW_HTTP', summary: '1: send tokens over plain http beyond this machine' },
  { name: 'NO_COLOR', summary: 'no colours' },
];

const hook: Argument = { name: 'HOOK', summary: 'its number, as `gatepost hooks list` shows it' };
const delivery: Argument = { name: 'DELIVERY', summary: 'its number, as `gatepost deliveries list` shows it' };
const yes: Option = { name: 'yes', summary: 'do not ask first' };
const status: Option = { name: 'status', value: 'STATUS', choices: ['success', 'failure'], summary: 'only these' };

const events: Option = {
  name: 'events',
  value: 'NAME,…',
  summary: 'what it subscribes to; * is everything (default push)',
};
const hookOptions: readonly Option[] = [
  { name: 'content-type', value: 'TYPE', choices: ['json', 'form'], summary: 'how payloads are sent (default json)' },
  { name: 'headers-file', value: 'FILE', summary: 'its own request headers, one per line: Name: value' },
  { name: 'retry', value: 'ON|OFF', choices: ['on', 'off'], summary: 'whether failures are retried automatically' },
  { name: 'insecure-ssl', summary: 'do not check the receiver’s certificate' },
  { name: 'inactive', summary: 'deliver nothing' },
];

const trigger = () => import('./commands/trigger.ts');
const account = () => import('./commands/account.ts');
const hooks = () => import('./commands/hooks.ts');
const replays = () => import('./commands/replay.ts');
const deliveries = () => import('./commands/deliveries.ts');

export const commands: readonly Command[] = [
  {
    words: ['login'],
    summary: 'Sign in with a code that you enter in a browser',
    about: `The API says which gate it trusts (RFC 9728); the gate gives a code (RFC 8628) to enter on any device. Tokens are kept in the system's keyring
(libsecret's secret-tool, macOS's security) if there is one, else in a file with mode 600, and are renewed automatically.
GATEPOST_NO_KEYRING=1 always uses the file. Without signing in: GATEPOST_TOKEN, or GATEPOST_CLIENT_ID and GATEPOST_CLIENT_SECRET, each with GATEPOST_API.`,
    options: [
      { name: 'issuer', value: 'URL', summary: 'the gate, if the API does not name it (else GATEPOST_ISSUER)' },
      {
        name: 'audience',
        value: 'ID',
        summary: 'the API’s identifier, if it is not its address (else GATEPOST_AUDIENCE)',
      },
      { name: 'client-id', value: 'ID', summary: 'the application (else GATEPOST_CLIENT_ID; default gatepost-cli)' },
      { name: 'scopes', value: 'SCOPE,…', summary: 'what the token may do (default: all that a person needs here)' },
      {
        name: 'machine',
        summary: 'sign in as a machine; its secret comes from GATEPOST_CLIENT_SECRET or standard input',
      },
      { name: 'with-token', summary: 'use an access token from standard input until it expires' },
    ],
    example: 'login --api http://localhost:4500',
    load: async () => (await account()).login,
  },
  {
    words: ['logout'],
    summary: 'Sign out: revoke the tokens at the gate, and forget them',
    load: async () => (await account()).logout,
  },
  {
    words: ['whoami'],
    summary: 'Who is signed in, where, and with which scopes',
    load: async () => (await account()).whoami,
  },
  {
    words: ['profiles', 'list'],
    summary: 'List where you are signed in',
    load: async () => (await account()).listProfiles,
  },
  {
    words: ['profiles', 'use'],
    summary: 'Choose the sign-in to use from now on',
    args: [{ name: 'PROFILE', summary: 'its name: the API’s host, or the name that the sign-in was given' }],
    load: async () => (await account()).useProfile,
  },

  {
    words: ['hooks', 'list'],
    summary: 'List hooks',
    options: placeOptions,
    example: 'hooks list --repo acme/widgets',
    load: async () => (await hooks()).listHooks,
  },
  {
    words: ['hooks', 'show'],
    summary: 'Show a hook',
    args: [hook],
    options: placeOptions,
    load: async () => (await hooks()).showHook,
  },
  {
    words: ['hooks', 'create'],
    summary: 'Create a hook',
    args: [{ name: 'URL', summary: 'where it delivers to' }],
    options: [
      ...placeOptions,
      events,
      { name: 'secret-file', value: 'FILE', summary: 'its secret; - is standard input (else GATEPOST_WEBHOOK_SECRET)' },
      ...hookOptions,
    ],
    example: 'hooks create https://ci.example/hook --repo acme/widgets --events push,issues --secret-file secret.txt',
    load: async () => (await hooks()).createHook,
  },
  {
    words: ['hooks', 'edit'],
    summary: 'Change a hook; what is not given stays as it is',
    args: [hook],
    options: [
      ...placeOptions,
      { name: 'url', value: 'URL', summary: 'where it delivers to' },
      { ...events, summary: 'what it subscribes to' },
      { name: 'add-events', value: 'NAME,…', summary: 'subscribe to these too' },
      { name: 'remove-events', value: 'NAME,…', summary: 'unsubscribe from these' },
      { name: 'secret-file', value: 'FILE', summary: 'another secret; - is standard input' },
      ...hookOptions,
      { name: 'check-ssl', summary: 'check the receiver’s certificate again' },
      { name: 'active', summary: 'deliver again' },
      {
        name: 'overlap',
        value: 'HOURS',
        summary: 'with a new secret: how long the old one, if it begins with whsec_, signs webhook-signature too',
      },
    ],
    example: 'hooks edit 7 --repo acme/widgets --secret-file new.txt --overlap 24',
    load: async () => (await hooks()).editHook,
  },
  {
    words: ['hooks', 'delete'],
    summary: 'Delete a hook',
    args: [hook],
    options: [...placeOptions, yes],
    load: async () => (await hooks()).deleteHook,
  },
  {
    words: ['hooks', 'ping'],
    summary: 'Send a ping',
    args: [hook],
    options: placeOptions,
    load: async () => (await hooks()).pingHook,
  },

  {
    words: ['deliveries', 'list'],
    summary: 'List what was delivered, newest first',
    args: [hook],
    options: [
      ...placeOptions,
      status,
      { name: 'after-sequence', value: 'N', summary: 'what came after this X-Gatepost-Sequence, in that order' },
      { name: 'limit', value: 'N', summary: 'at most this many (default 30)' },
    ],
    load: async () => (await deliveries()).listDeliveries,
  },
  {
    words: ['deliveries', 'show'],
    summary: 'Show what was sent and what came back',
    args: [hook, delivery],
    options: placeOptions,
    load: async () => (await deliveries()).showDelivery,
  },
  {
    words: ['deliveries', 'tail'],
    summary: 'Show deliveries as they are made',
    args: [hook],
    options: [
      ...placeOptions,
      status,
      { name: 'interval', value: 'SECONDS', summary: 'after a break, how soon to connect again (default 2)' },
      { name: 'count', value: 'N', summary: 'end after this many' },
    ],
    load: async () => (await deliveries()).tailDeliveries,
  },
  {
    words: ['deliveries', 'redeliver'],
    summary: 'Deliver again, under the same guid',
    args: [hook, { ...delivery, many: true }],
    options: placeOptions,
    example: 'deliveries redeliver 7 1234 1235 --repo acme/widgets',
    load: async () => (await deliveries()).redeliver,
  },

  {
    words: ['deliveries', 'replay'],
    summary: 'Deliver again what failed, everything, or what a hook missed',
    about: `Each event is delivered once, under its guid, behind fresh deliveries and within the organization's limit. A replay goes on when this command ends.`,
    args: [hook],
    options: [
      ...placeOptions,
      { name: 'since', value: 'TIME', summary: 'from when: 90s, 30m, 2h, 3d ago, or 2026-11-22T10:00:00Z' },
      { name: 'until', value: 'TIME', summary: 'until when (default now)' },
      {
        name: 'status',
        value: 'WHICH',
        choices: ['failure', 'all', 'missed'],
        summary:
          'what was never delivered successfully (default), everything, or events that made no delivery to the hook',
      },
      { name: 'events', value: 'NAME,…', summary: 'only these' },
      { name: 'no-wait', summary: 'do not wait until it ends' },
    ],
    example: 'deliveries replay 7 --since 2h --repo acme/widgets',
    load: async () => (await replays()).replayDeliveries,
  },
  {
    words: ['deliveries', 'replays'],
    summary: 'List replays and how far they are',
    args: [hook],
    options: placeOptions,
    load: async () => (await replays()).listReplays,
  },
  {
    words: ['deliveries', 'replay-stop'],
    summary: 'Stop a replay',
    args: [hook, { name: 'REPLAY', summary: 'its number' }],
    options: placeOptions,
    load: async () => (await replays()).stopReplay,
  },
  {
    words: ['listen'],
    summary: 'Receive deliveries on this machine as they are made',
    about: `Makes a hook of its own, in the protocol of GitHub's command line, which lasts as long as this command. What the receiver here answers is logged as for any other hook; without
--forward-to, deliveries are only shown. With --secret-file they are signed; what is replayed is signed anew with it, and otherwise keeps its signatures, of which
webhook-signature is good for five minutes only.`,
    options: [
      ...placeOptions,
      { ...events, summary: 'which events (default all)' },
      { name: 'forward-to', value: 'URL', summary: 'a receiver here, such as http://localhost:3000/hook' },
      {
        name: 'filter',
        value: 'KEY=VALUE',
        many: true,
        summary: 'pass on only these: event=push, action=opened, issue.user.login!=bot*',
      },
      { name: 'record', value: 'DIR', summary: 'save each delivery in a file there' },
      { name: 'replay', value: 'FILE', many: true, summary: 'forward what was recorded instead, then end' },
      {
        name: 'content-type',
        value: 'TYPE',
        choices: ['json', 'form'],
        summary: 'how payloads are sent (default json)',
      },
      {
        name: 'secret-file',
        value: 'FILE',
        summary: 'a secret to sign with; - is standard input (else GATEPOST_WEBHOOK_SECRET)',
      },
      { name: 'verbose', summary: 'show payloads too' },
    ],
    example: 'listen --repo acme/widgets --events push,issues --forward-to http://localhost:3000/hook',
    load: async () => (await import('./commands/listen.ts')).listen,
  },
  {
    words: ['explain'],
    summary: 'Say why a delivery arrived or did not',
    about: `Where it stands, since and until when, each step with its time; for what was never sent, the causes. A guid is looked up at each hook of the repository or organization, or at
one (--hook); a delivery's number needs --hook.`,
    args: [{ name: 'WHAT', summary: 'a guid (X-GitHub-Delivery), or a delivery’s number' }],
    options: [
      ...placeOptions,
      { name: 'hook', value: 'HOOK', summary: 'only at this hook' },
      {
        name: 'account',
        value: 'LOGIN',
        summary: 'in a whole organization, including dead letters (needs site_admin)',
      },
    ],
    example: 'explain 7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70 --repo acme/widgets',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    words: ['trigger'],
    summary: 'Send hooks an event that did not happen',
    about: `Sends a realistic payload in GitHub's form, about the repository and the person signed in, to every active hook of the repository or organization that takes the event, or to one (--hook).
It is signed like any other delivery, so a hook with a secret takes it only with that secret. The deliveries are logged and tried once.`,
    args: [
      {
        name: 'EVENT',
        choices: sampleEvents,
        free: true,
        summary: `one of ${sampleEvents.join(', ')}; any other with --payload`,
      },
    ],
    options: [
      ...placeOptions,
      { name: 'hook', value: 'HOOK', summary: 'only to this hook' },
      { name: 'payload', value: 'FILE', summary: 'a JSON object to send instead; - is standard input' },
      {
        name: 'set',
        value: 'KEY=VALUE',
        many: true,
        summary: 'change the payload: issue.title="Rain", labels.0.name=bug; JSON, or otherwise text',
      },
      {
        name: 'secret-file',
        value: 'FILE',
        summary: 'the hook’s secret; - is standard input (else GATEPOST_WEBHOOK_SECRET)',
      },
      { name: 'print', summary: 'show the payload and send nothing' },
    ],
    example: 'trigger issues --repo acme/widgets --set issue.title="Rain again"',
    load: async () => (await trigger()).trigger,
  },

  ...adminCommands,

  {
    words: ['completion'],
    summary: 'Print what a shell needs to complete commands',
    args: [{ name: 'SHELL', choices: ['bash', 'zsh', 'fish'], summary: 'bash, zsh or fish' }],
    example: 'completion bash >> ~/.bashrc',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  {
    words: ['verify'],
    summary: 'Test a receiver with good, forged, repeated, large and odd deliveries',
    about: `Sends its own deliveries to a running receiver, and says what the receiver did with each and why that matters. It needs no server and no sign-in. Use a
receiver that does nothing real yet: it will take what is sent for real events. What merely could be better is advice, and fails only with --strict.`,
    args: [{ name: 'URL', summary: 'the receiver, such as http://localhost:3000/hook' }],
    options: [
      { name: 'secret', value: 'SECRET', summary: 'the secret that it checks, if it is only for tests' },
      { name: 'secret-file', value: 'FILE', summary: 'the same; - is standard input (else GATEPOST_WEBHOOK_SECRET)' },
      {
        name: 'content-type',
        value: 'TYPE',
        choices: ['json', 'form', 'both'],
        summary: 'what its hook sends (default json, and form as advice)',
      },
      { name: 'timeout', value: 'SECONDS', summary: 'how long an answer may take (default 10, as for deliveries)' },
      { name: 'strict', summary: 'advice fails too' },
    ],
    example: "verify http://localhost:3000/hook --secret 'change me'",
    load: async () => (await import('./commands/verify.ts')).verifyReceiver,
  },
];
