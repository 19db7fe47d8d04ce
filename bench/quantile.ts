/** The value below which `share` of the values lie; NaN for none. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const ms = (value: number): string => `${value.toFixed(1)} ms`;

/** A figure beside its target. */
export const withTarget = (value: string, bar: string, reached: boolean): string =>
  `${value}   ${reached ? '✓' : '✗'} ${bar}`;
