import type { WholeDelivery } from '../api/types.ts';

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The same request for one's own terminal; undefined if the payload is no longer kept. Masked headers stay masked; a reformatted payload has
 * another signature.
 */
export function toCurl({
  url,
  request: { headers, payload },
}: Pick<WholeDelivery, 'url' | 'request'>): string | undefined {
  if (payload === null) return undefined;
  const json = JSON.stringify(payload);
  const isForm = headers['Content-Type'] === 'application/x-www-form-urlencoded';
  const body = isForm ? String(new URLSearchParams({ payload: json })) : json;
  const lines = Object.entries(headers).map(([name, value]) => `--header ${quote(`${name}: ${value}`)}`);
  return [`curl ${quote(url)}`, ...lines, `--data-raw ${quote(body)}`].join(' \\\n  ');
}
