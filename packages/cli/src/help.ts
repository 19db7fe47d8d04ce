/** Help texts, generated from the table. */
import type { Command, Option } from './command.ts';
import { exitMeanings, exits } from './problem.ts';
import { globalOptions } from './table.ts';

export function overview(commands: readonly Command[], asked: readonly string[]): string {
  const rows = commands.map((command): [string, string] => [synopsis(command, false), command.summary]);
  const codes = Object.entries(exits).map(([name, code]): [string, string] => [
    String(code),
    exitMeanings[name as keyof typeof exits],
  ]);
  return [
    `gatepost ${asked.length > 0 ? asked.join(' ') : 'COMMAND'} …`,
    columns(rows),
    `For every command:\n${columns(globalOptions.map(optionRow))}`,
    ...(asked.length > 0 ? [] : [`Exit codes:\n${columns(codes)}`]),
    '`gatepost COMMAND --help` says more about a command.\n',
  ].join('\n\n');
}

export function helpOf(command: Command): string {
  const { about, args = [], options = [], example, needs } = command;
  return `${[
    `gatepost ${synopsis(command)}`,
    `${command.summary}.${needs ? ` Needs ${needs}.` : ''}${about ? `\n${withoutLinks(about)}` : ''}`,
    ...(args.length > 0 ? [columns(args.map(({ name, summary }) => [name, summary]))] : []),
    columns([...options, ...globalOptions].map(optionRow)),
    ...(example ? [`Example: gatepost ${example}`] : []),
  ].join('\n\n')}\n`;
}

/** A terminal cannot follow links: only their text is kept. */
const withoutLinks = (text: string) => text.replaceAll(/\[([^\]]+)\]\(([^)#]+)[^)]*\)/g, '$1 (docs/$2)');

/** `hooks edit HOOK [options]` */
export function synopsis({ words, args = [], options = [] }: Command, withOptions = true): string {
  const names = args.map(({ name, optional, many }) => {
    const text = many ? `${name}…` : name;
    return optional ? `[${text}]` : text;
  });
  return [...words, ...names, ...(withOptions && options.length > 0 ? ['[options]'] : [])].join(' ');
}

export const optionText = ({ name, value }: Option): string => `--${name}${value ? ` ${value}` : ''}`;

function optionRow(option: Option): [string, string] {
  return [optionText(option), option.summary + (option.choices ? `: ${option.choices.join(', ')}` : '')];
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
