import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { metricsIn, metricsThereAre } from './promql.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

type Rule = { alert: string; expr: string; annotations: { runbook: string } };
const { groups } = parse(read('infra/observability/alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const runbooks = [...read('docs/runbooks.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);

test('each alert has a paragraph in the runbooks, and each paragraph has an alert', () => {
  expect(runbooks).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, annotations } of rules)
    expect(annotations.runbook).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
});

test('alerts use only existing metrics', () => {
  const known = metricsThereAre();
  for (const { alert, expr } of rules) {
    const metrics = metricsIn(expr);
    expect([alert, metrics.length > 0, metrics.filter((name) => !known.has(name))]).toEqual([alert, true, []]);
  }
});

test('the test of the rules triggers each alert once', () => {
  const cases = parse(read('infra/observability/alerts.test.yaml')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
  };
  const caused = cases.tests.flatMap((one) => one.alert_rule_test).filter(({ exp_alerts }) => exp_alerts?.length);
  expect(new Set(caused.map(({ alertname }) => alertname))).toEqual(new Set(rules.map(({ alert }) => alert)));
});
