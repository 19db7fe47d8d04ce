/** How much of what ended was delivered, with four digits, and 1 only if all of it was; null: nothing ended. */
export function successRate(delivered: number, failed: number): number | null {
  const all = delivered + failed;
  return all === 0 ? null : Math.floor((delivered * 10_000) / all) / 10_000;
}
