/** Shown instead of secret values; in an update it means "unchanged". */
export const mask = '********';
