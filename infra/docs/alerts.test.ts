import { readFileSync } from 'node:fs';
import path from 'node:path';
import { httpDuration, Registry } from '@gatepost/runtime/metrics';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { metricsIn, metricsThereAre, selectorsIn } from './promql.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

/** The upper bounds of the buckets that the services' histograms have. */
async function realBuckets(): Promise<Map<string, Set<string>>> {
  const registry = new Registry();
  httpDuration(registry).observe({ method: 'GET', route: '/', status: '200' }, 0);
  const { makeMetrics } = await import(path.join(root, 'services/dispatcher/src/metrics.ts'));
  makeMetrics({}, registry, {});
  const buckets = [...(await registry.metrics()).matchAll(/^(\w+)_bucket\{le="([^"]+)"/gm)];
  return new Map(
    [...Map.groupBy(buckets, ([, name]) => name!)].map(([name, of]) => [name, new Set(of.map(([, , le]) => le!))]),
  );
}

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

// A Prometheus has other programs' metrics too, and http_request_duration_seconds is a usual name.
test('alerts look only at our jobs', () => {
  const ours = /^\w+\{job=(?:"dispatcher"|"auth"|~"auth\|webhook-api\|dispatcher")[,}]/;
  for (const { alert, expr } of rules)
    expect([alert, selectorsIn(expr)]).toEqual([alert, selectorsIn(expr).map(() => expect.stringMatching(ours))]);
});

test('the test of the rules triggers each alert once', () => {
  const cases = parse(read('infra/observability/alerts.test.yaml')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
  };
  const caused = cases.tests.flatMap((one) => one.alert_rule_test).filter(({ exp_alerts }) => exp_alerts?.length);
  expect(new Set(caused.map(({ alertname }) => alertname))).toEqual(new Set(rules.map(({ alert }) => alert)));
});

// Within a bucket Prometheus assumes that values are spread evenly: a threshold there would be crossed by values far below it.
test('an alert on a quantile begins at the bound of a bucket', async () => {
  const buckets = await realBuckets();
  const quantiles = rules.filter(({ expr }) => expr.includes('histogram_quantile'));
  expect(quantiles.map(({ alert }) => alert)).toEqual(['EventsLate', 'SlowAnswers']);
  for (const { alert, expr } of quantiles) {
    const bounds = [...buckets.get(metricsIn(expr)[0]!)!];
    expect([alert, bounds]).toEqual([alert, expect.arrayContaining([/> ([\d.]+)$/.exec(expr)![1]])]);
  }
});

test('the test of the rules has only buckets that the services have', async () => {
  const buckets = await realBuckets();
  const used = [...read('infra/observability/alerts.test.yaml').matchAll(/(\w+)_bucket\{.*?le="([^"]+)"/g)];
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter(([, name, le]) => !buckets.get(name!)?.has(le!)).map(([text]) => text)).toEqual([]);
});
