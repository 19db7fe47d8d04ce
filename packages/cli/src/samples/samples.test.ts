import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { sampleEvents } from './events.ts';
import { sampleRepository, sampleUser, time, type Where } from './place.ts';
import { makeSample } from './samples.ts';
import { setValue } from './set.ts';

type Schema = { [key: string]: unknown };

/** Of GitHub's published OpenAPI description, the payloads that are made here (`npx pnpm --filter @gatepost/webhook-api run github-openapi` writes it). */
const github = JSON.parse(readFileSync(new URL('./github-openapi.json', import.meta.url), 'utf8')) as {
  source: { package: string };
  payloads: Record<string, Schema>;
  components: { schemas: Record<string, Schema> };
};

const ajv = new Ajv({ strict: false, allErrors: true });
// The package's default export is its CommonJS module's.
(addFormats as unknown as { default: (ajv: Ajv) => void }).default(ajv);
ajv.addFormat('int64', true).addSchema({ $id: 'github', ...(spellOutNullable(github) as object) });

const api = 'https://gatepost.example/api/v3';
const where: Where = {
  repository: sampleRepository('acme', 'widgets', api),
  organization: undefined,
  sender: sampleUser('alice', 583231, api),
  at: time,
};

test('there is a sample of each of GitHub’s 20 most used events', () => {
  expect([...sampleEvents].sort()).toEqual(Object.keys(github.payloads).sort());
  expect(sampleEvents).toHaveLength(20);
});

test.each([...sampleEvents])('the sample of %s matches GitHub’s published schema', (event) => {
  const validate = ajv.compile({ $ref: `github#/payloads/${event}` });
  const sample = JSON.parse(JSON.stringify(makeSample(event, where)));
  validate(sample);
  expect(
    (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    ),
  ).toEqual([]);
  // The schema does ask for something: of the repository, of the sender, and of what happened.
  for (const name of ['repository', 'sender', Object.keys(sample)[0]!])
    expect(validate({ ...sample, [name]: {} })).toBe(false);
});

// The author, the sender and the owner were one object.
test.each([
  ['issues', 'issue.user.login=mallory'],
  ['pull_request', 'pull_request.head.repo.owner.login=mallory'],
  ['deployment_status', 'deployment.creator.login=mallory'],
] as const)('in a sample of %s, --set %s changes nothing else', (event, assignment) => {
  const before = JSON.stringify(where);
  const sample = makeSample(event, where);
  setValue(sample, assignment);
  expect(JSON.stringify(sample).split('"mallory"')).toHaveLength(2);
  expect(JSON.stringify(where)).toBe(before);
});

/** Where `nullable` has no `type` beside it, that null is one of the choices. */
function spellOutNullable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(spellOutNullable);
  const schema: Schema = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spellOutNullable(item)]));
  if (schema.nullable !== true || schema.type !== undefined) return schema;
  const { nullable, ...rest } = schema;
  return { anyOf: [rest, { type: 'null' }] };
}
