/** One organization: its name and look, its members, invitations and connections. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Organization } from '../../api/management-types.ts';
import { TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useTitle } from '../../ui/title.ts';
import { changesOf } from '../changes.ts';
import { DeletePanel } from './delete-panel.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Head, Id } from './head.tsx';
import { organizationsKey } from './organizations.tsx';
import { type OrganizationSearch, type OrganizationTab, organizationTabs } from './search.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

const Members = lazy(async () => ({ default: (await import('./organization-members.tsx')).Members }));
const Invitations = lazy(async () => ({ default: (await import('./organization-invitations.tsx')).Invitations }));
const Connections = lazy(async () => ({
  default: (await import('./organization-connections.tsx')).OrganizationConnections,
}));

export const organizationKey = (organizationId: string) => ['gate', 'organization', organizationId];

export const OrganizationPage = gatePage(
  'Organization',
  'read:organizations',
  ({ organizationId, search }: { organizationId: string; search: OrganizationSearch }) => {
    const { api, may } = useGate();
    const path = `/organizations/${encodeURIComponent(organizationId)}`;
    const { data, error, refetch } = useQuery({
      queryKey: organizationKey(organizationId),
      queryFn: ({ signal }) => api.get<Organization>(path, signal),
    });
    useTitle(data?.display_name ?? 'Organization');
    if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
    if (!data) return <Loading what="the organization" />;
    const shown: Record<OrganizationTab, boolean> = {
      settings: true,
      members: may('read:organization_members'),
      invitations: may('read:organization_invitations'),
      connections: may('read:organization_connections') || may('read:organizations'),
    };
    const tabs = (Object.keys(organizationTabs) as OrganizationTab[]).filter((tab) => shown[tab]);
    const tab = search.tab && tabs.includes(search.tab) ? search.tab : 'settings';
    return (
      <>
        <Head back={<Link to="/gate/organizations">Organizations</Link>} name={data.display_name} />
        <Id what="Organization ID" id={data.id} />
        <nav className="tabs" aria-label="Organization">
          {tabs.map((name) => (
            <Link
              key={name}
              to="/gate/organizations/$organizationId"
              params={{ organizationId }}
              search={name === 'settings' ? {} : { tab: name }}
              activeOptions={{ exact: true, includeSearch: true }}
            >
              {organizationTabs[name]}
            </Link>
          ))}
        </nav>
        <Suspense fallback={<Loading what="the page" />}>
          {tab === 'settings' && <Settings key={organizationId} organization={data} path={path} />}
          {tab === 'members' && <Members organization={data} path={path} />}
          {tab === 'invitations' && <Invitations organization={data} path={path} />}
          {tab === 'connections' && <Connections organization={data} path={path} />}
        </Suspense>
      </>
    );
  },
);

function Settings({ organization, path }: { organization: Organization; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const send = async (saved: Organization, now: ReturnType<typeof formOf>) => {
    const { name, display_name, ...look } = changesOf(formOf(saved), now);
    // The API replaces the whole branding.
    const branding =
      Object.keys(look).length > 0 && brandingOf({ ...formOf(await api.get<Organization>(path)), ...look });
    return api.send<Organization>('PATCH', path, {
      ...(name !== undefined && { name }),
      ...(display_name !== undefined && { display_name }),
      ...(branding && { branding }),
    });
  };
  const { form, save, change } = useSettings(organization, formOf, send, (changed) => {
    queries.setQueryData(organizationKey(organization.id), changed);
    return queries.invalidateQueries({ queryKey: organizationsKey });
  });
  return (
    <>
      <SettingsForm label="Settings" save={save} onSave={() => save.mutate()} mayChange={may('update:organizations')}>
        <TextField label="Name" name="name" isRequired value={form.name} onChange={(name) => change({ name })} />
        <TextField
          label="Display Name"
          name="display_name"
          isRequired
          value={form.display_name}
          onChange={(display_name) => change({ display_name })}
        />
        <TextField
          label="Logo"
          name="branding.logo_url"
          value={form.logo}
          onChange={(logo) => change({ logo })}
          placeholder="https://example.com/logo.svg"
          hint="Shown on the sign-in page instead of yours. Leave empty to use yours. The same applies to the colours."
        />
        <div className="pair">
          <TextField
            label="Primary colour"
            name="branding.colors.primary"
            value={form.primary}
            onChange={(primary) => change({ primary })}
            placeholder="#0d5f50"
          />
          <TextField
            label="Page background"
            name="branding.colors.page_background"
            value={form.background}
            onChange={(background) => change({ background })}
            placeholder="#f3f4f0"
          />
        </div>
      </SettingsForm>
      {may('delete:organizations') && (
        <DeletePanel
          what="organization"
          name={organization.display_name}
          path={path}
          list={{ to: '/gate/organizations', key: organizationsKey }}
          itemKey={organizationKey(organization.id)}
        >
          Users can no longer sign in to it, and all grants for it end immediately. They keep their accounts. This
          cannot be undone.
        </DeletePanel>
      )}
    </>
  );
}

type Values = ReturnType<typeof formOf>;

function formOf({ name, display_name, branding = {} }: Organization) {
  return {
    name,
    display_name,
    logo: branding.logo_url ?? '',
    primary: branding.colors?.primary ?? '',
    background: branding.colors?.page_background ?? '',
  };
}

function brandingOf({ logo, primary, background }: Values): object {
  const colors = { ...(primary && { primary }), ...(background && { page_background: background }) };
  return { ...(logo && { logo_url: logo }), ...(Object.keys(colors).length > 0 && { colors }) };
}
