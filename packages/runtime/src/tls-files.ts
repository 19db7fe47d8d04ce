/** The TLS files that a store's URL names. */
import { readFileSync } from 'node:fs';
import { splitUrls } from './urls.ts';

export type TlsFiles = { ca?: Buffer; cert?: Buffer; key?: Buffer };

/**
 * TLS settings, by RabbitMQ's names for URI query parameters (https://www.rabbitmq.com/docs/uri-query-parameters): `cacertfile` (PEM; replaces
 * the machine's own roots), `certfile` and `keyfile` (the client's certificate). The first address that has one counts for all.
 * @throws when a file cannot be read
 */
export function tlsFilesOf(urls: string): TlsFiles {
  const file = (parameter: string) => {
    const path = splitUrls(urls)
      .map((url) => new URL(url).searchParams.get(parameter))
      .find(Boolean);
    return path ? readFileSync(path) : undefined;
  };
  const [ca, cert, key] = [file('cacertfile'), file('certfile'), file('keyfile')];
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}
