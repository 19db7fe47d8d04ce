import type { WholeDelivery } from '../api/types.ts';

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same request for one's own terminal. Masked headers stay masked; a reformatted payload has another signature. */
export function toCurl({ url, request: { headers, payload } }: Pick<WholeDelivery, 'url' | 'request'>): string {
  const lines = Object.entries(headers).map(([name, value]) => `--header ${quote(`${name}: ${value}`)}`);
  return [`curl ${quote(url)}`, ...lines, `--data-raw ${quote(JSON.stringify(payload))}`].join(' \\\n  ');
}
