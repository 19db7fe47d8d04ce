/** What all hosted pages may show: the tenant, the application, the person, the request’s `ext-*` parameters. */
import type { Log } from '@gatepost/runtime/log';
import type { Client } from 'oidc-provider';
import { accountClaims } from '../accounts/store.ts';
import { extParameters } from '../authorization/parameters.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { AccountModel } from '../generated/models.ts';
import { organizationForTemplates } from '../organizations/for-templates.ts';
import type { OrganizationStore } from '../organizations/store.ts';
import type { CommonContext, User } from '../pages/pages.ts';
import { brandingForOrganization, brandingOf } from '../settings/branding.ts';
import type { CustomTextStore } from '../settings/custom-texts.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { TemplateStore } from '../settings/templates.ts';

export type CommonContextInput = {
  acceptLanguage?: string | undefined;
  client?: Client | undefined;
  /** The authorization request's parameters. */
  params?: Record<string, unknown> | undefined;
  account?: AccountModel | undefined;
  uid?: string | undefined;
};

export type MakeCommonContext = (input: CommonContextInput) => Promise<CommonContext>;

export function makeCommonContextMaker(stores: {
  settings: SettingsStore;
  templates: TemplateStore;
  customTexts: CustomTextStore;
  organizations: Pick<OrganizationStore, 'find'>;
  log: Log;
}): MakeCommonContext {
  return async ({ acceptLanguage, client, params, account, uid }) => {
    const settings = await stores.settings.load();
    const redirectUri = params?.redirect_uri;
    const asked = textOf(params?.organization);
    const organization = asked === undefined ? undefined : await stores.organizations.find(asked);
    return {
      acceptLanguage,
      uiLocales: textOf(params?.ui_locales),
      enabledLocales: settings.enabledLocales,
      tenant: {
        friendly_name: settings.friendlyName ?? 'Gatepost',
        ...(settings.supportEmail ? { support_email: settings.supportEmail } : {}),
        ...(settings.supportUrl ? { support_url: settings.supportUrl } : {}),
      },
      branding: organization ? brandingForOrganization(settings, organization) : brandingOf(settings),
      // The account client stands for the tenant's own pages, which have no other name.
      ...(client && client.clientId !== accountClientId ? { application: application(client) } : {}),
      ...(organization && { within: organizationForTemplates(organization) }),
      ...(account ? { user: user(account) } : {}),
      state: uid,
      params: extParameters(params),
      redirectUri: textOf(redirectUri),
      customTexts: await stores.customTexts.load(),
      template: await stores.templates.find(),
      onTemplateProblem: (reason) => stores.log.warn({ reason }, "the tenant's page template was ignored"),
    };
  };
}

function application(client: Client) {
  const { client_metadata } = client as Client & OwnMetadata;
  return {
    id: client.clientId,
    name: client.clientName ?? client.clientId,
    // Nobody has reviewed a self-registered client (only those have an issue time): its logo could be another's, or point into the person's network.
    ...(client.logoUri && client.clientIdIssuedAt === undefined ? { logo_url: client.logoUri } : {}),
    metadata: client_metadata ?? {},
  };
}

function user(account: AccountModel): User {
  const claims = accountClaims(account) as Record<string, string | undefined>;
  return {
    user_id: account.userId,
    ...(claims.email ? { email: claims.email } : {}),
    ...(claims.phone_number ? { phone_number: claims.phone_number } : {}),
    ...(claims.name ? { name: claims.name } : {}),
    ...(claims.nickname ? { nickname: claims.nickname } : {}),
    ...(claims.picture ? { picture: claims.picture } : {}),
    user_metadata: account.userMetadata as Record<string, unknown>,
    app_metadata: account.appMetadata as Record<string, unknown>,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
