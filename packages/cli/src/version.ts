import { readFileSync } from 'node:fs';

// Packed or not, it is beside the folder of this file.
const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
export const version: string = (JSON.parse(manifest) as { version: string }).version;
