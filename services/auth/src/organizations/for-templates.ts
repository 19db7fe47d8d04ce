/** An organization as page and mail templates see it, by Auth0's names. */
import type { OrganizationModel } from '../generated/models.ts';
import type { StoredBranding } from '../settings/branding.ts';

export type TemplateOrganization = {
  id: string;
  name: string;
  display_name: string;
  metadata: Record<string, unknown>;
  branding: Pick<StoredBranding, 'logo_url' | 'colors'>;
};

export function organizationForTemplates(
  organization: Pick<OrganizationModel, 'id' | 'name' | 'displayName' | 'metadata' | 'branding'>,
): TemplateOrganization {
  const { id, name, displayName, metadata } = organization;
  const { logo_url, colors } = organization.branding as StoredBranding;
  return {
    id,
    name,
    display_name: displayName || name,
    metadata: metadata as Record<string, unknown>,
    branding: { ...(logo_url !== undefined && { logo_url }), ...(colors && { colors }) },
  };
}
