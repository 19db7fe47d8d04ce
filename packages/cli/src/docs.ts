/** Writes docs/cli.md from the command table (`npm run docs`); a test compares the page with it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from './command.ts';
import { optionText, synopsis } from './help.ts';
import { exitMeanings, exits } from './problem.ts';
import { commands, environment, globalOptions } from './table.ts';

export const pageFile = new URL('../../../docs/cli.md', import.meta.url);
/** A sample session with its output. */
const sessionFile = new URL('../session.txt', import.meta.url);

const head = `# The command line

\`gatepost\` is for people who build, run and administer webhook receivers: hooks, deliveries, events, and the daily tasks of an administrator. It is in [packages/cli](../packages/cli/README.md), uses only the
[webhook API](reference/webhooks-api.md) and the gate's [management API](reference/management-api.md), and starts in a twentieth of a second. \`npm run docs\` generates this page from the table of commands.

- **Installing**: in a clone where \`npm start\` has run, it is \`npx gatepost\`. For anywhere else, \`npm pack\` in packages/cli makes \`gatepost-cli-0.1.0.tgz\`, and \`npm install --global ./gatepost-cli-0.1.0.tgz\` installs it, on Node 20.19 or newer. \`gatepost completion bash\` (zsh, fish) prints what a shell needs to complete commands.
- **Signing in**: \`gatepost login --api http://localhost:4500\` asks the API which gate it trusts, and shows a code to enter in a browser. The application is \`gatepost-cli\`, which is in the demo's [seed](../infra/demo/seed.yaml); on your own
  system, register a public native application with the grants \`refresh_token\` and \`urn:ietf:params:oauth:grant-type:device_code\`, under that name or another one (\`--client-id\`). It asks for the scopes that a person needs here; what they allow depends on your role in an organization.
- **As a machine**, for what needs \`site_admin\` or the gate's management API: \`gatepost login --machine --client-id ID\`, whose secret comes from \`GATEPOST_CLIENT_SECRET\` or standard input. At a terminal you are asked for it, as for every secret from standard input, and what you type is not shown.
- **In a pipeline** nothing needs to be stored: \`GATEPOST_API\` with \`GATEPOST_TOKEN\`, or with \`GATEPOST_CLIENT_ID\` and \`GATEPOST_CLIENT_SECRET\`. Another \`--api\` is refused then, since it would get what belongs to the first. Without \`GATEPOST_ISSUER\` it is the API that
  says which gate gets the secret: name the gate wherever you do not rely on the API for that.
- **For programs**: every command takes \`--json\`. Results are on standard output, everything else on standard error; the exit code says what happened.
- **Where tokens are kept**: in the system's keyring through \`secret-tool\` (libsecret) or \`security\` (macOS), else in \`~/.config/gatepost\` (\`GATEPOST_CONFIG_DIR\`), in files with mode 600 that are refused if others may read them. Secrets are not taken from arguments, which everybody
  on a machine can see, except by \`verify --secret\`, for one that is only for tests. A token is sent only to the API and the gate it was made for: redirects are not followed, and plain http is not used beyond this machine unless \`GATEPOST_ALLOW_HTTP=1\`.
- Control characters are shown as \`\\u001b\` and the like, since others wrote much of what is shown. Colours appear only on a terminal, and not with \`NO_COLOR\`.`;

/** The text of docs/cli.md. */
export function page(): string {
  const session = existsSync(sessionFile)
    ? ['## A session', `\`\`\`text\n${readFileSync(sessionFile, 'utf8').trimEnd()}\n\`\`\``]
    : [];
  const codes = Object.entries(exits).map(
    ([name, code]) => `| ${code} | ${exitMeanings[name as keyof typeof exits]} |`,
  );
  const variables = environment.map(({ name, summary }) => `| \`${name}\` | ${cell(summary)} |`);
  return `${[
    head,
    ...session,
    '## Exit codes',
    ['| code | meaning |', '|---|---|', ...codes].join('\n'),
    '## Environment',
    'A variable without a value counts as not set.',
    ['| variable | meaning |', '|---|---|', ...variables].join('\n'),
    '## For every command',
    optionTable(globalOptions),
    ...commands.map(section),
  ].join('\n\n')}\n`;
}

function section(command: Command): string {
  const { words, summary, about, args = [], options = [], example, needs } = command;
  const rows = args.map(
    ({ name, summary, optional }) => `| \`${name}\` | ${cell(summary)}${optional ? ' (optional)' : ''} |`,
  );
  return [
    `## gatepost ${words.join(' ')}`,
    `\`gatepost ${synopsis(command)}\``,
    `${summary}.${needs ? ` Needs ${needs}.` : ''}${about ? `\n${about}` : ''}`,
    ...(rows.length + options.length > 0 ? [[...tableHead, ...rows, ...optionRows(options)].join('\n')] : []),
    ...(example ? [`Example: \`gatepost ${example}\``] : []),
  ].join('\n\n');
}

const tableHead = ['| argument or option | meaning |', '|---|---|'];
const optionTable = (options: Command['options'] = []) => [...tableHead, ...optionRows(options)].join('\n');

function optionRows(options: NonNullable<Command['options']>): string[] {
  return options.map((option) => {
    const choices = option.choices ? `: ${option.choices.map((choice) => `\`${choice}\``).join(', ')}` : '';
    return `| \`${cell(optionText(option))}\` | ${cell(option.summary)}${choices} |`;
  });
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*', '\\*');

if (import.meta.main) {
  writeFileSync(pageFile, page());
  console.log('docs/cli.md is written');
}
