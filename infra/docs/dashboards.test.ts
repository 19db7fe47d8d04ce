import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { metricsIn, metricsThereAre } from './promql.ts';

const folder = path.resolve(import.meta.dirname, '../observability');

type Panel = { id: number; type: string; title: string; targets?: { expr: string; datasource: { uid: string } }[] };
type Dashboard = {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string; query: string; allValue?: string }[] };
};
const dashboards = globSync('dashboards/*.json', { cwd: folder }).map((file) => ({
  file: path.basename(file),
  dashboard: JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Dashboard,
}));
const panels = dashboards.flatMap(({ file, dashboard }) =>
  dashboard.panels.filter(({ type }) => type !== 'row').map((panel) => ({ file, ...panel })),
);
const expressions = panels.flatMap(({ file, title, targets = [] }) =>
  targets.map(({ expr }, index) => ({ file, title, index, expr })),
);

test('the gate, the webhooks and the stores each have a dashboard, and no panel is empty', () => {
  expect(dashboards.map(({ file }) => file).sort()).toEqual(['gate.json', 'post.json', 'stores.json']);
  for (const { title, targets = [] } of panels) expect([title, targets.length > 0]).toEqual([title, true]);
  for (const { dashboard } of dashboards)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  // A Prometheus of any name: the one selected above.
  for (const { targets = [] } of panels)
    for (const { datasource } of targets) expect(datasource.uid).toMatch(/^\$\{datasource\}$/);
});

test('each panel queries, in valid PromQL, metrics that the services or their stores have', () => {
  const known = metricsThereAre();
  for (const { file, title, expr } of expressions) {
    const metrics = metricsIn(expr);
    const unknown = metrics.filter((name) => !known.has(name));
    expect([file, title, metrics.length > 0, unknown]).toEqual([file, title, true, []]);
  }
});

test('each panel shows our services alone: programs of others have metrics of the same names', () => {
  for (const { file, title, expr } of expressions) {
    const ours = /\b(?:up|(?:auth|dispatcher|webhook_api|http_request|process|nodejs|amqp)_\w+)(?:\{([^}]*)\})?/g;
    for (const [found, selector = ''] of expr.matchAll(ours))
      expect([file, title, found, /\bjob=~?"(?:auth|webhook-api|dispatcher)\b/.test(selector)]).toEqual([
        file,
        title,
        found,
        true,
      ]);
  }
});

test('the gate and the webhooks can be shown for one Kubernetes namespace, or for all and where there is none', () => {
  for (const { file, dashboard } of dashboards.filter(({ file }) => file !== 'stores.json')) {
    const namespaces = dashboard.templating.list.find(({ name }) => name === 'namespace');
    expect(namespaces).toMatchObject({
      query: expect.stringMatching(/^label_values\(up\{.*\}, namespace\)$/),
      allValue: '.*',
    });
    for (const { expr } of expressions.filter((one) => one.file === file))
      expect(expr.match(/\{/g)?.length).toBe(expr.match(/\{namespace=~"\$namespace",/g)?.length);
  }
});

test('every metric of ours is on a dashboard, and so are the listed metrics of other programs', () => {
  const shown = new Set(expressions.flatMap(({ expr }) => metricsIn(expr)));
  expect([...metricsThereAre()].filter((name) => !shown.has(name))).toEqual([]);
});

test('Prometheus’s promtool accepts all queries and alerts, where it is installed', () => {
  const record = ({ file, index }: { file: string; index: number }, position: number) =>
    `dashboards:${path.parse(file).name}_${position}_${index}`;
  const rules = expressions.map((one, position) => ({ record: record(one, position), expr: one.expr }));
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'gatepost-')), 'dashboards.yaml');
  writeFileSync(file, stringify({ groups: [{ name: 'dashboards', rules }] }));
  const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
  const runs = [
    promtool('check', 'rules', file),
    promtool('check', 'rules', 'alerts.yaml'),
    promtool('test', 'rules', 'alerts.test.yaml'),
  ];
  for (const { error, status, stdout, stderr } of runs) {
    // Not every machine has it; the grammar above is also Prometheus' own.
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') continue;
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  }
});
