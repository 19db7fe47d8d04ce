/**
 * Writes `github-openapi.json` beside this file: of GitHub's published OpenAPI description, unchanged but for texts and examples, the
 * answers and bodies on the paths that we serve, and the payloads of the events that we make or send by ourselves. The package that holds it is
 * 400 MB large, too much for everybody's installation. Beside the command line's tests it writes the payloads that `gatepost trigger` makes. Run it after a new route or a new version of the package:
 *
 *     npx pnpm --filter @gatepost/webhook-api run github-openapi
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { routes } from '../../src/routes.ts';
import { type GithubOpenApi, shapeOf } from './github-openapi.ts';

const version = '23.0.2';
const events = ['ping', 'push'];

/** By event, the name of its schema: an event with actions has one for each. */
const sampled = {
  check_run: 'check-run-completed',
  check_suite: 'check-suite-completed',
  commit_comment: 'commit-comment-created',
  create: 'create',
  delete: 'delete',
  deployment: 'deployment-created',
  deployment_status: 'deployment-status-created',
  fork: 'fork',
  issue_comment: 'issue-comment-created',
  issues: 'issues-opened',
  pull_request: 'pull-request-opened',
  pull_request_review: 'pull-request-review-submitted',
  pull_request_review_comment: 'pull-request-review-comment-created',
  push: 'push',
  release: 'release-published',
  repository: 'repository-created',
  star: 'star-created',
  status: 'status',
  workflow_job: 'workflow-job-completed',
  workflow_run: 'workflow-run-completed',
};

type Json = { [key: string]: unknown };

const folder = mkdtempSync(path.join(tmpdir(), 'github-openapi-'));
try {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', `@octokit/openapi@${version}`, '--json'], { cwd: folder, encoding: 'utf8' }),
  ) as [{ filename: string; integrity: string }];
  const file = 'package/generated/api.github.com.json';
  execFileSync('tar', ['--extract', '--file', packed.filename, file], { cwd: folder });
  const github = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Json;
  const extract = {
    source: { package: `@octokit/openapi@${version}`, file, integrity: packed.integrity },
    ...extractOf(github),
  };
  const source = extract.source;
  writeFileSync(new URL('github-openapi.json', import.meta.url), `${lines(extract, 3)}\n`);
  const samples = new URL('../../../../packages/cli/src/samples/github-openapi.json', import.meta.url);
  writeFileSync(samples, `${lines({ source, ...payloadsOf(github, sampled) }, 3)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}

function extractOf(github: Json): Omit<GithubOpenApi, 'source'> {
  const wanted = new Set(routes.map(({ path }) => shapeOf(path)));
  const paths = pick(github.paths as Json, (key) => wanted.has(shapeOf(key)));
  const answers = mapValues(paths, (methods) =>
    mapValues(methods as Json, (operation) =>
      mapValues((operation as { responses: Json }).responses, (answer) => schemaOf(resolve(github, answer))),
    ),
  );
  const bodies = mapValues(paths, (methods) =>
    mapValues(methods as Json, (operation) => schemaOf((operation as { requestBody?: Json }).requestBody ?? {})),
  );
  const payloads = Object.fromEntries(
    events.map((event) => [event, { $ref: `#/components/schemas/webhook-${event}` }]),
  );
  const schemas: Json = {};
  collect(github, [answers, bodies, payloads], schemas);
  return { answers, bodies, payloads, components: { schemas } } as Omit<GithubOpenApi, 'source'>;
}

function payloadsOf(github: Json, names: Record<string, string>): Json {
  const payloads = mapValues(names, (name) => ({ $ref: `#/components/schemas/webhook-${name}` }));
  const schemas: Json = {};
  collect(github, payloads, schemas);
  return { payloads, components: { schemas } };
}

/** JSON with a line for each member, down to a depth. */
function lines(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{\n${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${lines(item, depth - 1)}`)
    .join(',\n')}\n}`;
}

/** The schema of an answer in JSON; null: none is described. */
function schemaOf({ content }: Json): unknown {
  return bare((content as Record<string, Json> | undefined)?.['application/json']?.schema ?? null);
}

/** Puts every schema that `value` refers to, directly or not, into `schemas`. */
function collect(github: Json, value: unknown, schemas: Json): void {
  if (typeof value !== 'object' || value === null) return;
  const { $ref } = value as { $ref?: unknown };
  const name = typeof $ref === 'string' ? $ref.replace('#/components/schemas/', '') : undefined;
  if (name !== undefined && !(name in schemas)) {
    schemas[name] = bare(resolve(github, value as Json));
    collect(github, schemas[name], schemas);
  }
  for (const item of Object.values(value)) collect(github, item, schemas);
}

function resolve(github: Json, value: unknown): Json {
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined) return value as Json;
  return resolve(
    github,
    $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((node, key) => (node as Json)[key], github),
  );
}

/** Without what says nothing about validity. A property may be named like any of these: its schema is an object, they are not. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  const silent = ['title', 'description', 'default', 'deprecated', 'example', 'readOnly'];
  const kept = pick(
    value as Json,
    (key, item) =>
      !key.startsWith('x-github') && (!silent.includes(key) || (typeof item === 'object' && key !== 'example')),
  );
  return mapValues(kept, bare);
}

function pick(object: Json, keep: (key: string, value: unknown) => boolean): Json {
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => keep(key, value)));
}

function mapValues(object: Json, map: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
