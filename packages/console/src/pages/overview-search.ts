/** The time range of an overview, as in its address. */
export const ranges = {
  hour: { text: 'Last hour', minutes: 60, resolution: 'minute' },
  day: { text: 'Last day', minutes: 24 * 60, resolution: 'minute' },
  days: { text: 'Last three days', minutes: 3 * 24 * 60, resolution: 'hour' },
} as const;

export type Range = keyof typeof ranges;

export type OverviewSearch = { range?: Exclude<Range, 'hour'> };

export const validateOverviewSearch = ({ range }: Record<string, unknown>): OverviewSearch =>
  range === 'day' || range === 'days' ? { range } : {};
