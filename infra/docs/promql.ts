/** The metrics in a PromQL expression, read with Prometheus' own grammar; and the existing metrics. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

const root = path.resolve(import.meta.dirname, '../..');

/** The metrics that an expression names, without a histogram's suffixes. @throws if it is not PromQL */
export function metricsIn(expression: string): string[] {
  const names: string[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to, node }) {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') names.push(expression.slice(from, to));
    },
  });
  return names.map((name) => name.replace(/_(bucket|count|sum)$/, ''));
}

/** The selectors of an expression: each metric with its labels. */
export function selectorsIn(expression: string): string[] {
  const selectors: string[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      if (type.name === 'VectorSelector') selectors.push(expression.slice(from, to));
    },
  });
  return selectors;
}

/** Ours, according to the reference, and those of other programs' exporters. */
export function metricsThereAre(): ReadonlySet<string> {
  const page = readFileSync(path.join(root, 'docs/reference/metrics.md'), 'utf8');
  const ours = [...page.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name!);
  const others = parse(readFileSync(path.join(root, 'infra/observability/exporters.yaml'), 'utf8')) as Record<
    string,
    string[]
  >;
  return new Set([...ours, ...Object.values(others).flat()].map((name) => name.replace(/_(bucket|count|sum)$/, '')));
}
