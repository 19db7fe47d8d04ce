import { readFileSync } from 'node:fs';

// Packed or not, it stands beside the folder that this is in.
const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
export const version: string = (JSON.parse(manifest) as { version: string }).version;
