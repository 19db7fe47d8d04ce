/** GitHub's times have no fractional seconds. */
export const seconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');
