/** The tenant's look (`api/v2/branding`), for pages and mails. */
import type { OrganizationModel, SettingsModel } from '../generated/models.ts';
import type { Branding } from '../pages/pages.ts';

/** As stored, by Auth0's names. */
export type StoredBranding = {
  logo_url?: string;
  favicon_url?: string;
  colors?: { primary?: string; page_background?: Branding['pageBackground'] };
  font?: { url?: string };
};

/**
 * What was set: `brandingOf(await settings.load())`. All of it may be absent. Without a logo here, pages use that of `tenants/settings`
 * (`picture_url`).
 *
 * A tenant may choose any colours, so the matching ones come from pages/contrast.ts: the text on a button of the primary colour is
 * `textOn(primary)`, a link in that colour on a white background `readableOn(primary, ['#ffffff'])`. Ours is `defaultPrimary`. Addresses
 * have been checked to be http or https, and still need escaping.
 */
export function brandingOf({ branding, pictureUrl }: Pick<SettingsModel, 'branding' | 'pictureUrl'>): Branding {
  const { logo_url, favicon_url, colors, font } = branding as StoredBranding;
  return {
    logoUrl: logo_url ?? pictureUrl ?? undefined,
    faviconUrl: favicon_url,
    fontUrl: font?.url,
    primary: colors?.primary,
    pageBackground: colors?.page_background,
  };
}

/** For a sign-in within an organization: its logo and colours, or the tenant's where it has none. */
export function brandingForOrganization(
  settings: Pick<SettingsModel, 'branding' | 'pictureUrl'>,
  organization: Pick<OrganizationModel, 'branding'>,
): Branding {
  const { logo_url, colors } = organization.branding as StoredBranding;
  const own = { logoUrl: logo_url, primary: colors?.primary, pageBackground: colors?.page_background };
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...brandingOf(settings), ...set };
}
