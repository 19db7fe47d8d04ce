/** The share of finished attempts that were delivered, to four digits, and 1 only if all were; null: none finished. */
export function successRate(delivered: number, failed: number): number | null {
  const all = delivered + failed;
  return all === 0 ? null : Math.floor((delivered * 10_000) / all) / 10_000;
}
