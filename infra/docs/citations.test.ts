/** Everything that the repository's files cite exists: links, paths, anchors, decisions, security checks. Nothing cites what readers do not have. */
import { globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const root = path.resolve(import.meta.dirname, '../..');
const exclude = (name: string): boolean => /^(node_modules|dist|generated|\.[a-z].*)$/.test(path.basename(name));
const files = ['*', '{bench,docs,examples,infra,packages,services,tests}/**/*']
  .flatMap((pattern) => globSync(`${pattern}.{ts,mjs,md,yaml,yml,sql,prisma,liquid}`, { cwd: root, exclude }))
  .filter((file) => file !== 'pnpm-lock.yaml' && file !== path.relative(root, import.meta.filename))
  .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;

/** The anchors that GitHub gives a page's headings. */
const anchors = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Whether a path, with or without an anchor, leads somewhere, relative to a folder. */
function leads(from: string, citation: string): boolean {
  const [file, anchor] = citation.split('#') as [string, string?];
  const target = path.resolve(from, file);
  return exists(target) && (anchor === undefined || !target.endsWith('.md') || anchors(target).includes(anchor));
}

/** All citations of a form, in any file, that lead nowhere, as `file: citation`. */
function astray(form: RegExp, good: (citation: string, file: string) => boolean, ending = ''): string[] {
  return files
    .filter(({ file }) => file.endsWith(ending))
    .flatMap(({ file, text }) =>
      [...text.matchAll(form)]
        .filter(([, citation]) => !good(citation!, path.join(root, file)))
        .map(([whole]) => `${file}: ${whole}`),
    );
}

test('the repository’s files are found', () => {
  expect(files.length).toBeGreaterThan(300);
});

test('no file cites texts that are not in the repository', () => {
  const form =
    /(\b[Cc]hecks? \d{3}\b|\b[Cc]ontract sections?\b|\bcontract:|\(facts[,:]|\bthe contract (?:says|decides|allows)\b|\bGH (?:sections? )?[A-F]\.\d|\b[Tt]he spec\b|\bspec's\b|\bspec ")/g;
  expect(astray(form, () => false)).toEqual([]);
});

test('links between documents lead to a file, and to a heading in it', () => {
  const form = /\]\((?!https?:|mailto:)(?:<)?([^)\s>]*)>?\)/g;
  const good = (link: string, file: string): boolean =>
    link.startsWith('#') ? anchors(file).includes(link.slice(1)) : leads(path.dirname(file), link);
  expect(astray(form, good, '.md')).toEqual([]);
});

test('paths from the root, in comments and documents, lead to a file, and to a heading in it', () => {
  const form =
    /(?<![\w./@-])((?:bench|docs|infra|packages|services|tests)\/[\w./-]*\.(?:ts|mjs|md|yaml|sql|prisma|liquid)(?:#[\w-]+)?)/g;
  expect(astray(form, (citation) => leads(root, citation))).toEqual([]);
});

test('files that a comment or document names by the end of their path exist', () => {
  const comments = ({ file, text }: { file: string; text: string }) =>
    file.endsWith('.md') ? text : (text.match(/\/\*\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*/gm) ?? []).join('\n');
  const cited = files.flatMap((read) =>
    [...comments(read).matchAll(/(?<![\w./@*<…-])((?:[\w-]+\/)*[\w-]+(?:\.test|\.browser\.test)?\.ts)\b/g)].map(
      ([, path]) => ({
        file: read.file,
        path: path!,
      }),
    ),
  );
  const isThere = (end: string): boolean => files.some(({ file }) => `/${file}`.endsWith(`/${end}`));
  expect(cited.filter(({ path }) => !isThere(path)).map(({ file, path }) => `${file}: ${path}`)).toEqual([]);
});

test('cited decisions exist', () => {
  const taken = globSync('[0-9]*.md', { cwd: path.join(root, 'docs/decisions') }).map((file) =>
    Number.parseInt(file, 10),
  );
  expect(astray(/\b[Dd]ecisions? (\d+)/g, (number) => taken.includes(Number(number)))).toEqual([]);
});

test('cited security checks are in docs/security.md', () => {
  const page = readFileSync(path.join(root, 'docs/security.md'), 'utf8');
  expect(astray(/\bsec-(\d{3})/g, (number) => page.includes(`\n| ${number} |`))).toEqual([]);
});

test('every decision has a number, a date and a status, and is in the index with its title', () => {
  const folder = path.join(root, 'docs/decisions');
  const index = readFileSync(path.join(folder, 'README.md'), 'utf8');
  for (const file of globSync('[0-9]*.md', { cwd: folder })) {
    const page = readFileSync(path.join(folder, file), 'utf8');
    const [, number, title, date, status] = page.match(/^# (\d{4}) (.+)\n\n(\d{4}-\d\d-\d\d) · (.+)\n/) ?? [];
    expect({ file, number }).toEqual({ file, number: file.slice(0, 4) });
    expect(index).toContain(`| ${number} | [${title}](${file}) | ${date} | ${status} |`);
  }
});
