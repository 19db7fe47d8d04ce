/** `/openapi.json` and `/docs` of the gate: valid, whole, with examples, shown without anything from elsewhere. */
import { findDescriptionProblems, findWithoutExample } from '@gatepost/testkit/openapi';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import express from 'express';
import { describeGate } from '../src/description/describe.ts';
import { descriptions } from '../src/management/descriptions.ts';
import { routes } from '../src/management/routes.ts';
import { openGate, type TestGate } from './gate.ts';

let gate: TestGate;
/** The routes of our own that the gate has, below no router's path. */
const served = new Set<string>();

beforeAll(async () => {
  const { route } = express.Router.prototype;
  express.Router.prototype.route = function (this: unknown, path: string | string[]) {
    for (const each of [path].flat()) served.add(each.replace(/:(\w+)/g, '{$1}'));
    return route.call(this, path);
  };
  gate = await openGate({});
  express.Router.prototype.route = route;
});
afterAll(async () => {
  await gate?.[Symbol.asyncDispose]();
});

test('the description is valid OpenAPI, and each request and answer has an example that fits its schema', async () => {
  const { json } = await gate.get('openapi.json');
  expect(json).toMatchObject({ openapi: '3.0.3', servers: [{ url: gate.issuer.slice(0, -1) }] });
  expect(await findDescriptionProblems(json)).toEqual([]);
  expect(findWithoutExample(describeGate().paths)).toEqual([]);
});

test('each operation of the management API has its line in descriptions.ts, and no line is left over', () => {
  const own = routes.filter(({ description }) => !description).map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(descriptions).sort()).toEqual(own.sort());
});

test('every route that is served is described, except for the hosted pages', async () => {
  const described = Object.keys(describeGate().paths).filter((path) => !path.startsWith('/api/v2/'));
  const pages =
    /^\/(interaction|account|login\/callback|continue|change-password|email-verification|passwordless\/link|docs|activate|branding-preview|exports)|^\/$/;
  const management = new Set(routes.map(({ path }) => path.replace(/:(\w+)/g, '{$1}')));
  const own = [...served].filter((path) => !pages.test(path) && !management.has(path));
  expect(own.filter((path) => !described.includes(path))).toEqual([]);
  // What the library serves, its discovery document names.
  const { json: discovery } = await gate.get('.well-known/openid-configuration');
  const named = Object.entries(discovery)
    .filter(([name]) => /_(endpoint|uri)$/.test(name))
    .map(([, url]) => new URL(String(url)).pathname);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((path) => !described.includes(path))).toEqual([]);
  expect(discovery.service_documentation).toBe(`${gate.issuer}docs`);
});

test('every route that is described is served', async () => {
  for (const [path, operations] of Object.entries(describeGate().paths)) {
    if (path.startsWith('/api/v2/')) continue;
    for (const method of Object.keys(operations)) {
      const body = method === 'get' ? undefined : new URLSearchParams();
      const { status } = await fetch(new URL(path, gate.issuer), { method, redirect: 'manual', ...(body && { body }) });
      expect([method, path, status]).not.toEqual([method, path, 404]);
    }
  }
});

test('every operation lists the 400 that a malformed query is answered', async () => {
  for (const [path, operations] of Object.entries(describeGate().paths))
    for (const [method, { responses }] of Object.entries(operations)) {
      for (const query of ['%zz', 'fields=%00']) {
        const { status } = await fetch(new URL(`${path}?${query}`, gate.issuer), { method: method.toUpperCase() });
        expect([method, path, query, status]).toEqual([method, path, query, 400]);
      }
      expect([method, path, Object.keys(responses)]).toEqual([method, path, expect.arrayContaining(['400'])]);
    }
});

test('a sign-out is answered with a page where there is no address to go to, as described', async () => {
  const { status, headers } = await fetch(new URL('v2/logout', gate.issuer), { redirect: 'manual' });
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/html/)]);
  expect(Object.keys(describeGate().paths['/v2/logout']!.get!.responses)).toContain('200');
});

test('the policy of /docs allows loading nothing from elsewhere', async () => {
  const { headers } = await gate.get('docs');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'sha256-/);
  expect(headers.get('content-security-policy')).not.toMatch(/unsafe|https?:|\*/);
});
