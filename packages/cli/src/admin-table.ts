/** The administrators' part of the command table. */
import type { Argument, Command, Option } from './command.ts';

const login: Argument = { name: 'LOGIN', summary: 'an organization' };
const yes: Option = { name: 'yes', summary: 'do not ask first' };
const reason: Option = { name: 'reason', value: 'REASON', summary: 'only those with this reason' };
const allLetters: Option = { name: 'all', summary: 'all of them, up to 2,000' };
const letter: Argument = { name: 'ID', summary: 'its id, as `gatepost dead-letters list` shows it' };
const client: Argument = { name: 'CLIENT-ID', summary: 'the application' };
const user: Argument = { name: 'USER-ID', summary: 'a person, such as auth0|alice' };
const needs = { site: { needs: 'site_admin' }, gate: { needs: 'the gate’s management API' } } as const;
const appOptions: readonly Option[] = [
  { name: 'callbacks', value: 'URL,…', summary: 'where people may be sent back to after signing in' },
  { name: 'logout-urls', value: 'URL,…', summary: 'the same, after signing out' },
  { name: 'web-origins', value: 'URL,…', summary: 'origins whose pages may renew tokens silently' },
  { name: 'grant-types', value: 'GRANT,…', summary: 'how it may get tokens' },
];

const admin = () => import('./commands/admin.ts');
const deadLetters = () => import('./commands/dead-letters.ts');
const gate = () => import('./commands/gate.ts');

/** For the webhook API. */
const siteCommands: readonly Omit<Command, 'needs'>[] = [
  { words: ['status'], summary: 'Show what is waiting, where and why', load: async () => (await admin()).status },
  {
    words: ['waiting'],
    summary: 'Show what is waiting for an organization, and until when',
    args: [login],
    options: [{ name: 'all', summary: 'more than the first 100' }],
    load: async () => (await admin()).waiting,
  },
  {
    words: ['find'],
    summary: 'Find an event: stored, waiting, in the log or among the dead letters',
    args: [{ name: 'GUID', summary: 'as in X-GitHub-Delivery' }],
    load: async () => (await admin()).find,
  },
  {
    words: ['dead-letters', 'list'],
    summary: 'List messages that could not be accepted',
    options: [reason],
    load: async () => (await deadLetters()).listLetters,
  },
  {
    words: ['dead-letters', 'show'],
    summary: 'Show one with its headers and body',
    args: [letter],
    load: async () => (await deadLetters()).showLetter,
  },
  {
    words: ['dead-letters', 'publish'],
    summary: 'Publish them again as they came',
    args: [{ ...letter, optional: true }],
    options: [reason, allLetters],
    load: async () => (await deadLetters()).publishLetters,
  },
  {
    words: ['dead-letters', 'drop'],
    summary: 'Drop them',
    args: [{ ...letter, optional: true }],
    options: [reason, allLetters, yes],
    load: async () => (await deadLetters()).dropLetters,
  },
  {
    words: ['throttle', 'get'],
    summary: 'Show how fast an organization’s deliveries go out',
    args: [login],
    load: async () => (await admin()).getThrottle,
  },
  {
    words: ['throttle', 'set'],
    summary: 'Give an organization its own limit',
    args: [
      login,
      { name: 'RATE', summary: 'deliveries per second' },
      { name: 'BURST', summary: 'deliveries that may be made at once after a pause' },
    ],
    example: 'throttle set acme 50 500',
    load: async () => (await admin()).setThrottle,
  },
  {
    words: ['throttle', 'reset'],
    summary: 'Return an organization to the default limit',
    args: [login],
    load: async () => (await admin()).resetThrottle,
  },
  {
    words: ['pause'],
    summary: 'Stop the deliveries of an organization or a hook, and lose none',
    args: [{ ...login, optional: true }],
    options: [{ name: 'hook', value: 'HOOK', summary: 'a hook instead' }],
    load: async () => (await admin()).pause,
  },
  {
    words: ['resume'],
    summary: 'Deliver again; what waited goes out in its order',
    args: [{ ...login, optional: true }],
    options: [{ name: 'hook', value: 'HOOK', summary: 'a hook instead' }],
    load: async () => (await admin()).resume,
  },
  {
    words: ['organizations', 'list'],
    summary: 'List organizations',
    load: async () => (await admin()).listOrganizations,
  },
  {
    words: ['organizations', 'create'],
    summary: 'Create an organization',
    args: [login],
    options: [{ name: 'admin', value: 'SUBJECT', summary: 'who administers it, such as auth0|alice' }],
    load: async () => (await admin()).createOrganization,
  },
  {
    words: ['organizations', 'delete'],
    summary: 'Delete an organization and all that belongs to it',
    args: [login],
    options: [{ name: 'dry-run', summary: 'show what would be deleted' }, yes],
    load: async () => (await admin()).deleteOrganization,
  },
  {
    words: ['reseal'],
    summary: 'Seal under SECRETS_KEY what SECRETS_KEY_OTHER has sealed',
    about:
      'It also needs the scope update:encryption_keys of the gate’s management API. [Operations](operations.md#another-secrets_key) says when to use it.',
    load: async () => (await admin()).reseal,
  },
];

/** For a process. */
const logLevel: Command = {
  words: ['log-level'],
  summary: 'Show or change what a process logs, until it ends',
  args: [
    { name: 'OPS-URL', summary: 'its ops port, such as http://localhost:4501' },
    {
      name: 'LEVEL',
      optional: true,
      many: true,
      summary: 'error, warn, info or debug, for all or after the name of a module',
    },
  ],
  about: 'An ops port needs no sign-in; if it has a token, put it into GATEPOST_OPS_TOKEN.',
  example: 'log-level http://localhost:4501 http debug',
  load: async () => (await admin()).logLevel,
};

/** For the gate. */
const gateCommands: readonly Omit<Command, 'needs'>[] = [
  { words: ['keys', 'list'], summary: 'List signing keys', load: async () => (await gate()).listKeys },
  {
    words: ['keys', 'rotate'],
    summary: 'Sign with the next keys',
    options: [yes],
    load: async () => (await gate()).rotateKeys,
  },
  {
    words: ['keys', 'revoke'],
    summary: 'End all tokens signed by an earlier key',
    args: [{ name: 'KID', summary: 'as `gatepost keys list` shows it' }],
    options: [yes],
    load: async () => (await gate()).revokeKey,
  },
  { words: ['apps', 'list'], summary: 'List applications', load: async () => (await gate()).listApps },
  { words: ['apps', 'show'], summary: 'Show an application', args: [client], load: async () => (await gate()).showApp },
  {
    words: ['apps', 'create'],
    summary: 'Register an application; its secret is shown once',
    args: [{ name: 'NAME', summary: 'the name people see when they sign in' }],
    options: [
      {
        name: 'type',
        value: 'TYPE',
        choices: ['regular_web', 'spa', 'native', 'non_interactive'],
        summary: 'what it is (default regular_web)',
      },
      ...appOptions,
    ],
    example: 'apps create "Status page" --callbacks https://status.example/callback',
    load: async () => (await gate()).createApp,
  },
  {
    words: ['apps', 'edit'],
    summary: 'Change an application; what is not given stays as it is',
    args: [client],
    options: [{ name: 'name', value: 'NAME', summary: 'the name people see' }, ...appOptions],
    load: async () => (await gate()).editApp,
  },
  {
    words: ['apps', 'grant'],
    summary: 'Set what a machine may ask an API for',
    args: [client, { name: 'AUDIENCE', summary: 'the API’s identifier' }],
    options: [{ name: 'scopes', value: 'SCOPE,…', summary: 'these, and no others' }],
    load: async () => (await gate()).grantApp,
  },
  {
    words: ['apps', 'rotate-secret'],
    summary: 'Give an application a new secret',
    args: [client],
    options: [yes],
    load: async () => (await gate()).rotateAppSecret,
  },
  {
    words: ['apps', 'delete'],
    summary: 'Delete an application',
    args: [client],
    options: [yes],
    load: async () => (await gate()).deleteApp,
  },
  {
    words: ['users', 'list'],
    summary: 'List people',
    options: [
      { name: 'email', value: 'ADDRESS', summary: 'those with this address' },
      { name: 'search', value: 'QUERY', summary: 'in Auth0’s query syntax: name:alice*' },
    ],
    load: async () => (await gate()).listUsers,
  },
  {
    words: ['users', 'import'],
    summary: 'Import people from a file, with the hashes of their passwords',
    args: [{ name: 'FILE', summary: 'JSON lines, also gzipped: an export from Auth0, or its schema for imports' }],
    options: [
      { name: 'connection', value: 'NAME', summary: 'the database connection they belong to (default the first)' },
      { name: 'upsert', summary: 'update those who exist already' },
    ],
    about:
      '`FILE.imported` records how far it is; an interrupted import goes on from there, at the same gate, with the same file and options. Whoever is refused is named with the line. [From Auth0](migrating-from-auth0.md#people) says where such a file comes from.',
    example: 'users import auth0-export.ndjson',
    load: async () => (await import('./commands/import-users.ts')).importUsers,
  },
  { words: ['users', 'show'], summary: 'Show a person', args: [user], load: async () => (await gate()).showUser },
  {
    words: ['users', 'create'],
    summary: 'Create an account',
    args: [{ name: 'EMAIL', summary: 'its address' }],
    options: [
      { name: 'name', value: 'NAME', summary: 'the person’s name' },
      {
        name: 'connection',
        value: 'NAME',
        summary: 'the database connection it belongs to (default Username-Password-Authentication)',
      },
      { name: 'password-file', value: 'FILE', summary: 'the password; - is standard input' },
      { name: 'verified', summary: 'the address is known to be theirs' },
    ],
    load: async () => (await gate()).createUser,
  },
  {
    words: ['users', 'block'],
    summary: 'Block a person, and sign them out everywhere',
    args: [user],
    load: async () => (await gate()).blockUser,
  },
  {
    words: ['users', 'unblock'],
    summary: 'Let a person sign in again',
    args: [user],
    load: async () => (await gate()).unblockUser,
  },
  {
    words: ['users', 'unlock'],
    summary: 'Forget the wrong passwords that locked a person out',
    args: [user],
    load: async () => (await gate()).unlockUser,
  },
  {
    words: ['users', 'sign-out'],
    summary: 'Sign a person out everywhere',
    args: [user],
    load: async () => (await gate()).signOutUser,
  },
  {
    words: ['users', 'delete'],
    summary: 'Delete an account',
    args: [user],
    options: [yes],
    load: async () => (await gate()).deleteUser,
  },
];

export const adminCommands: readonly Command[] = [
  ...siteCommands.map((command) => ({ ...command, ...needs.site })),
  logLevel,
  ...gateCommands.map((command) => ({ ...command, ...needs.gate })),
];
