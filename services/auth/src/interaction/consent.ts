/** The consent page: which application gets which scopes of which API. */
import { errors } from 'oidc-provider';
import type { Consent } from '../authorization/consents.ts';
import { addToGrant } from '../authorization/existing-grant.ts';
import { claims } from '../claims.ts';
import { makeGrant } from '../library/seam.ts';
import { countedFrom } from '../library/sessions.ts';
import type { ConsentApi } from '../pages/pages.ts';
import { audienceOf, openidScopes } from '../resources/audience.ts';
import type { Interaction } from './interaction.ts';

export async function showConsent(interaction: Interaction): Promise<void> {
  await interaction.show('consent', {
    step: 'consent',
    apis: await consentApis(interaction),
    redirectHost: redirectHost(String(interaction.params.redirect_uri ?? '')),
  });
}

/** Grants everything that the request asks for, and remembers it. */
export async function allowConsent(interaction: Interaction): Promise<void> {
  const { details, client, params, parts } = interaction;
  const { provider } = parts;
  const accountId = await accountOf(interaction);
  const consent = await requestedConsent(interaction);
  const known = details.grantId ? await provider.Grant.find(details.grantId) : undefined;
  const grant =
    known ?? makeGrant(provider, { accountId, client, organization: params.organization as string | undefined });
  addToGrant(grant, consent);
  const asked = (details.prompt.details as { missingOIDCClaims?: string[] }).missingOIDCClaims;
  if (asked) grant.addOIDCClaims(asked);
  const [grantId] = await Promise.all([grant.save(), parts.consents.add(accountId, client.clientId, consent)]);
  // The password may change at this very moment: that ended all earlier grants, and must end this one too.
  await accountOf(interaction).catch(async (error: unknown) => {
    await grant.destroy();
    throw error;
  });
  // Several APIs may have a scope of the same name.
  const scopes = [...new Set(Object.values(consent).flat())];
  parts.report.consentGranted(accountId, client.clientId, interaction.address, scopes);
  await interaction.finish({ consent: { grantId } });
}

/**
 * The account that is asked, while the session is still theirs. @throws errors.SessionNotFound when the account is gone, blocked or
 * another one
 */
async function accountOf({ details, parts }: Interaction): Promise<string> {
  const { accountId, uid } = details.session!;
  const session = await parts.provider.Session.findByUid(uid);
  const account = session && (await parts.accounts.findForTokens(accountId, countedFrom(session)));
  if (!account) throw new errors.SessionNotFound('the session is over');
  return accountId;
}

export async function denyConsent(interaction: Interaction): Promise<void> {
  await interaction.finish(
    { error: 'access_denied', error_description: 'the resource owner refused the request' },
    false,
  );
}

/** "Not you?": lets somebody else log in before this is asked again. The interaction's prompt decides which page comes next. */
export async function changeAccount(interaction: Interaction): Promise<void> {
  const { details } = interaction;
  details.prompt = { name: 'login', reasons: ['another_account'], details: {} };
  await details.persist();
  return interaction.turnTo('', { identifier: '' });
}

async function requestedConsent({ params, parts }: Interaction): Promise<Consent> {
  const scopes = [
    ...new Set(
      String(params.scope ?? '')
        .split(' ')
        .filter(Boolean),
    ),
  ];
  const consent: Consent = { '': scopes.filter((scope) => openidScopes.includes(scope)) };
  for (const resource of resourcesOf(params)) {
    const api = await parts.resources.find(audienceOf(resource));
    const available = new Set([...openidScopes, ...(api?.scopes.map((scope) => scope.value) ?? [])]);
    consent[resource] = scopes.filter((scope) => available.has(scope));
  }
  return consent;
}

/** Claims asked for by name are shown in the words of the scopes that hold them. */
function scopesOfClaims({ details }: Interaction): string[] {
  const { missingOIDCClaims: asked = [] } = details.prompt.details as { missingOIDCClaims?: string[] };
  return Object.entries(claims as Record<string, string[]>)
    .filter(([, names]) => names.some((name) => asked.includes(name)))
    .map(([scope]) => scope);
}

/** The requested scopes for display: each API with its scopes' descriptions; OpenID’s scopes as an entry of their own. */
async function consentApis(interaction: Interaction): Promise<ConsentApi[]> {
  const consent = await requestedConsent(interaction);
  const apis: ConsentApi[] = [];
  for (const [resource, scopes] of Object.entries(consent)) {
    if (resource === '') {
      const shown = [...new Set([...scopes, ...scopesOfClaims(interaction)])];
      if (shown.length > 0) apis.push({ scopes: shown.map((value) => ({ value })) });
      continue;
    }
    const api = await interaction.parts.resources.find(audienceOf(resource));
    const own = scopes.filter((scope) => !openidScopes.includes(scope));
    if (!api || own.length === 0) continue;
    apis.push({
      name: api.name,
      identifier: api.identifier,
      scopes: own.map((value) => ({
        value,
        description: api.scopes.find((scope) => scope.value === value)?.description,
      })),
    });
  }
  return apis;
}

function resourcesOf(params: Record<string, unknown>): string[] {
  const { resource } = params;
  if (Array.isArray(resource)) return resource.filter((item) => typeof item === 'string');
  return typeof resource === 'string' && resource !== '' ? [resource] : [];
}

/** Where the answer goes, in a form a person can judge: host and port, or the scheme of a native application. */
function redirectHost(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return '';
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.host : url.protocol;
}
