/** Converts between a hook’s row, whose secrets are sealed, and the form that rules and updates work with. */
import type { Seal } from '@gatepost/runtime/seal';
import { hookCredentialsPurpose, hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import type { Config } from './config.ts';
import { type HookUrl, splitUrl } from './credentials.ts';
import type { HookRow, HookValues } from './rows.ts';

export function openConfig(row: HookRow, seal: Seal): Config {
  return {
    ...openUrl(row, seal),
    contentType: row.content_type,
    insecureSsl: row.insecure_ssl,
    secret: openSecret(row.secret, seal),
    retry: row.retry,
    headers: openHeaders(row.headers, seal),
  };
}

/** A URL stored before credentials were kept separately may contain them itself. */
function openUrl({ url, credentials }: Pick<HookRow, 'url' | 'credentials'>, seal: Seal): HookUrl {
  return credentials === null ? splitUrl(url) : { url, credentials: openCredentials(credentials, seal) };
}

export const openCredentials = (credentials: Buffer | null, seal: Seal): string | null =>
  credentials && seal.open(credentials, hookCredentialsPurpose);

export function openSecret(secret: Buffer | null, seal: Seal): string | null {
  return secret && seal.open(secret, hookSecretPurpose);
}

/** The same secret under the present key. */
export const resealSecret = (secret: Buffer | null, seal: Seal): Buffer | null =>
  secret && (seal.reseal(secret, hookSecretPurpose) ?? secret);

export function openHeaders(headers: Buffer | null, seal: Seal): Record<string, string> {
  // We sealed it ourselves: it is the JSON of a flat object.
  return headers === null ? {} : (JSON.parse(seal.open(headers, hookHeadersPurpose)) as Record<string, string>);
}

export function sealConfig(config: Config, rest: { active: boolean; events: string[] }, seal: Seal): HookValues {
  const hasHeaders = Object.keys(config.headers).length > 0;
  return {
    ...rest,
    url: config.url,
    credentials: config.credentials === null ? null : seal.seal(config.credentials, hookCredentialsPurpose),
    content_type: config.contentType,
    insecure_ssl: config.insecureSsl,
    secret: config.secret === null ? null : seal.seal(config.secret, hookSecretPurpose),
    retry: config.retry,
    headers: hasHeaders ? seal.seal(JSON.stringify(config.headers), hookHeadersPurpose) : null,
  };
}
