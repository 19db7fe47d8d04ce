/** What secret values read back as; in an update it means "as it is". */
export const mask = '********';
