/** GitHub's times have no fraction of a second. */
export const seconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');
