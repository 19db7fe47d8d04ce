/**
 * Dynamic registration (RFC 7591): what somebody may set on a client, with an initial access token or without (open-registration.ts).
 * Excluded is what only an administrator grants: first-party privileges, grants without a person’s consent, origins, APIs.
 */
import { isUnpadded } from '@gatepost/contracts/seed-shapes';
import { type ClientMetadata, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { Prisma } from '../database.ts';
import { isInTheClear } from '../http/loopback.ts';
import { hashSecret } from './secret.ts';

const openGrantTypes = [
  'authorization_code',
  'implicit',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
];

/**
 * Refuses our own metadata in a registration; our clients get it from their records. `extraClientMetadata.validator`.
 * @param metadata all of it: a sector’s address must be refused here, before the library reads it
 */
export function refuseOwnMetadata(
  ctx: KoaContextWithOIDC | undefined,
  name: string,
  value: unknown,
  metadata: ClientMetadata,
): void {
  if (ctx?.oidc?.route !== 'registration') return;
  if (value !== undefined) throw new errors.InvalidClientMetadata(`${name} cannot be registered`);
  if (metadata.sector_identifier_uri !== undefined)
    throw new errors.InvalidClientMetadata('sector_identifier_uri is not supported: subjects are public');
}

/**
 * Registers whoever has a redirect with a scheme of its own as a native application, if it does not say what it is: RFC 7591 knows no
 * `application_type`, and the default of OpenID Connect, `web`, has no such redirects.
 */
export function markNative(body: { application_type?: unknown; redirect_uris?: unknown } | undefined): void {
  if (!body || body.application_type !== undefined || !Array.isArray(body.redirect_uris)) return;
  if (body.redirect_uris.some((uri) => hasOwnScheme(String(uri)))) body.application_type = 'native';
}

function hasOwnScheme(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && url.protocol !== 'https:' && url.protocol !== 'http:';
}

// These have columns of their own, or are derived from them.
const columns = new Set([
  'client_id',
  'client_name',
  'client_secret',
  'client_secret_expires_at',
  'application_type',
  'grant_types',
  'jwks',
  'logo_uri',
  'post_logout_redirect_uris',
  'redirect_uris',
  'response_types',
  'token_endpoint_auth_method',
]);

/** The record of a client that registered itself. @throws InvalidClientMetadata for a grant type it may not give itself. */
export function registeredClient(metadata: ClientMetadata): Prisma.ClientCreateInput {
  const grantTypes = metadata.grant_types ?? ['authorization_code'];
  const refused = grantTypes.find((type) => !openGrantTypes.includes(type));
  if (refused) throw new errors.InvalidClientMetadata(`grant_types must not include ${refused}`);
  // The library lets these through, and then compares them literally.
  const uris = [...(metadata.redirect_uris ?? []), ...(metadata.post_logout_redirect_uris ?? [])];
  if (!uris.every(isUnpadded))
    throw new errors.InvalidClientMetadata('redirect URIs must have no spaces around them and no line breaks');
  if (metadata.jwks_uri !== undefined && isInTheClear(metadata.jwks_uri))
    throw new errors.InvalidClientMetadata(
      'jwks_uri must be an https address: keys read in the clear could be anybody’s',
    );
  const { token_endpoint_auth_method: authMethod = 'client_secret_basic' } = metadata;
  const rest = Object.entries(metadata).filter(([name, value]) => !columns.has(name) && value !== undefined);
  return {
    clientId: metadata.client_id,
    name: metadata.client_name ?? '',
    logoUri: metadata.logo_uri ?? null,
    appType: metadata.application_type === 'native' ? 'native' : authMethod === 'none' ? 'spa' : 'regular_web',
    isFirstParty: false,
    secretHashes: metadata.client_secret ? [hashSecret(metadata.client_secret)] : [],
    callbacks: [...(metadata.redirect_uris ?? [])],
    allowedLogoutUrls: [...(metadata.post_logout_redirect_uris ?? [])],
    grantTypes: [...grantTypes],
    tokenEndpointAuthMethod: authMethod,
    // It came as JSON; the library's type has optional members, Prisma's does not.
    jwks: (metadata.jwks as unknown as Prisma.InputJsonObject | undefined) ?? Prisma.DbNull,
    oidcMetadata: Object.fromEntries(rest) as Prisma.InputJsonObject,
  };
}
