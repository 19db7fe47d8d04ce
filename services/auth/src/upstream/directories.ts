/**
 * A connection to several directories of Microsoft Entra at once (`tenant_domain: common` or `organizations`, or `use_common_endpoint`). Their
 * metadata name no issuer but a form of one, `https://login.microsoftonline.com/{tenantid}/v2.0`: each ID token's own directory (`tid`) stands
 * in it, and has to be one of those that the connection lists. Anybody can make himself a directory, and people with any address in it.
 */
import * as oidc from 'openid-client';
import { UpstreamFailure } from './failure.ts';
import type { Options } from './options.ts';

const place = '{tenantid}';
/** Of all directories. */
export const everybody = '*';
/** Microsoft's directory of all personal accounts: anybody makes himself one. */
const personalAccounts = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Which of Microsoft's addresses for several directories; undefined: the connection is for one. */
export function commonEndpointOf(
  strategy: string,
  { tenant_domain, tenantId, use_common_endpoint }: Pick<Options, 'tenant_domain' | 'tenantId' | 'use_common_endpoint'>,
): string | undefined {
  if (strategy !== 'waad') return undefined;
  const named = tenantId ?? tenant_domain;
  if (named === 'common' || named === 'organizations') return named;
  return use_common_endpoint ? 'common' : undefined;
}

/** Whether anybody may have made himself what this connection lets in. */
export function isForAnybody(
  strategy: string,
  options: Pick<Options, 'tenant_domain' | 'tenantId' | 'use_common_endpoint' | 'allowed_tenants'>,
): boolean {
  if (strategy !== 'waad') return false;
  const isCommon = commonEndpointOf(strategy, options) !== undefined;
  const named = isCommon ? options.allowed_tenants : [(options.tenantId ?? options.tenant_domain)?.toLowerCase()];
  return named?.some((each) => each === everybody || each === personalAccounts) ?? false;
}

/** Whether metadata with this issuer are those of several directories, at the address that was asked. */
export function isFormOfIssuer(issuer: string, base: string): boolean {
  const [before = '', after = '', ...more] = issuer.split(place);
  return (
    more.length === 0 && issuer.includes(place) && URL.parse(before)?.origin === new URL(base).origin && after !== ''
  );
}

/** Whether it is the issuer of one of the directories. */
export function isOfForm(issuer: string, form: string): boolean {
  const [before = '', after = ''] = form.split(place);
  return (
    issuer.startsWith(before) &&
    issuer.endsWith(after) &&
    /^[0-9a-f-]{36}$/i.test(issuer.slice(before.length, -after.length))
  );
}

/**
 * The directory that an ID token of this connection is of; the library has compared its issuer with it.
 * @throws UpstreamFailure when it is none of those that are allowed
 */
export function checkDirectory({ strategy, options }: { strategy: string; options: Options }, tid: unknown): void {
  if (commonEndpointOf(strategy, options) === undefined) return;
  const allowed = options.allowed_tenants ?? [];
  const isDirectory = typeof tid === 'string' && /^[0-9a-f-]{36}$/i.test(tid);
  if (!isDirectory || !(allowed.includes(everybody) || allowed.includes(tid.toLowerCase())))
    throw new UpstreamFailure('other_directory', { detail: `tid is ${String(tid).slice(0, 100)}` });
}

/**
 * The library's own handling of such an issuer, which it reaches only by its discovery: what was found before is answered to it here, and
 * nothing is asked.
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
