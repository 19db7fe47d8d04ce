/**
 * A connection to several Microsoft Entra directories at once (`tenant_domain: common` or `organizations`, or `use_common_endpoint`). Their
 * metadata contain a template instead of an issuer, `https://login.microsoftonline.com/{tenantid}/v2.0`; each ID token's own directory (`tid`)
 * fills it in and must be one that the connection lists. Anybody can create a directory, with people of any address in it.
 */
import * as oidc from 'openid-client';
import { UpstreamFailure } from './failure.ts';
import type { Options } from './options.ts';

const place = '{tenantid}';
/** Allows all directories. */
export const everybody = '*';
/** Microsoft's directory of all personal accounts, which anybody can create. */
const personalAccounts = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Which of Microsoft's addresses for several directories the connection uses; undefined if it is for a single one. */
export function commonEndpointOf(
  strategy: string,
  { tenant_domain, tenantId, use_common_endpoint }: Pick<Options, 'tenant_domain' | 'tenantId' | 'use_common_endpoint'>,
): string | undefined {
  if (strategy !== 'waad') return undefined;
  const named = tenantId ?? tenant_domain;
  if (named === 'common' || named === 'organizations') return named;
  return use_common_endpoint ? 'common' : undefined;
}

/** Whether anybody can create an account that this connection lets in. */
export function allowsAnyDirectory(
  strategy: string,
  options: Pick<Options, 'tenant_domain' | 'tenantId' | 'use_common_endpoint' | 'allowed_tenants'>,
): boolean {
  if (strategy !== 'waad') return false;
  const isCommon = commonEndpointOf(strategy, options) !== undefined;
  const named = isCommon ? options.allowed_tenants : [(options.tenantId ?? options.tenant_domain)?.toLowerCase()];
  return named?.some((each) => each === everybody || each === personalAccounts) ?? false;
}

/** Whether metadata with this issuer are those of several directories, at the requested address. */
export function isFormOfIssuer(issuer: string, base: string): boolean {
  const [before = '', after = '', ...more] = issuer.split(place);
  return (
    more.length === 0 && issuer.includes(place) && URL.parse(before)?.origin === new URL(base).origin && after !== ''
  );
}

/** Whether it is the issuer of one of the directories. */
export function matchesTemplate(issuer: string, form: string): boolean {
  const [before = '', after = ''] = form.split(place);
  return (
    issuer.startsWith(before) &&
    issuer.endsWith(after) &&
    /^[0-9a-f-]{36}$/i.test(issuer.slice(before.length, -after.length))
  );
}

/**
 * Checks the directory of this connection's ID token; the library has compared the issuer with it.
 * @throws UpstreamFailure when the directory is not an allowed one
 */
export function checkDirectory({ strategy, options }: { strategy: string; options: Options }, tid: unknown): void {
  if (commonEndpointOf(strategy, options) === undefined) return;
  const allowed = options.allowed_tenants ?? [];
  const isDirectory = typeof tid === 'string' && /^[0-9a-f-]{36}$/i.test(tid);
  if (!isDirectory || !(allowed.includes(everybody) || allowed.includes(tid.toLowerCase())))
    throw new UpstreamFailure('other_directory', { detail: `tid is ${String(tid).slice(0, 100)}` });
}

/**
 * The library handles such an issuer itself, but only via its own discovery. So its discovery request is answered here with what was
 * already found, and nothing is fetched.
 */
export function commonConfiguration(
  metadata: oidc.ServerMetadata,
  clientId: string,
  authentication: oidc.ClientAuth,
): Promise<oidc.Configuration> {
  const found = async () => new Response(JSON.stringify(metadata), { headers: { 'content-type': 'application/json' } });
  const address = new URL('https://login.microsoftonline.com/common/v2.0');
  return oidc.discovery(address, clientId, {}, authentication, { [oidc.customFetch]: found as oidc.CustomFetch });
}
