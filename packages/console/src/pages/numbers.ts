/** Numbers in readable form. */
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const parts = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

export const amount = (value: number): string => (value === 0 || value >= 10 ? whole : parts).format(value);

/** Rounded down: never "100 %" if one failed. */
export const percent = (rate: number): string => `${(Math.floor(rate * 1000) / 10).toLocaleString()} %`;

/** "1 hook", "2 hooks". */
export const counted = (many: number, one: string, several = `${one}s`): string =>
  `${many.toLocaleString()} ${many === 1 ? one : several}`;

export function duration(ms: number | null): string {
  if (ms === null) return '–';
  return ms < 1_000 ? `${parts.format(ms)} ms` : `${parts.format(ms / 1_000)} s`;
}
