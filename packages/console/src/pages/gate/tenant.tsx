/** Settings of the whole gate. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ResourceServer, TenantSettings } from '../../api/management-types.ts';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { changesOf } from '../changes.ts';
import { CheckboxList } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { algorithms } from './kinds.ts';
import { languages } from './languages.ts';
import { apisKey } from './query-keys.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

const settingsKey = ['gate', 'settings'];

export const Tenant = gatePage('Tenant settings', 'read:tenant_settings', () => {
  const { api } = useGate();
  const { data, error, refetch } = useQuery({
    queryKey: settingsKey,
    queryFn: ({ signal }) => api.get<TenantSettings>('/tenants/settings', signal),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the settings" />;
  return (
    <>
      <div className="title">
        <h1>Tenant settings</h1>
      </div>
      <Settings read={data} />
    </>
  );
});

function Settings({ read }: { read: TenantSettings }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { form, save, change } = useSettings(
    read,
    (saved) => saved,
    (saved, now) => api.send<TenantSettings>('PATCH', '/tenants/settings', changesOf(saved, now)),
    (changed) => queries.setQueryData(settingsKey, changed),
  );
  return (
    <SettingsForm
      isPage
      label="Settings"
      save={save}
      onSave={() => save.mutate()}
      mayChange={may('update:tenant_settings')}
    >
      <WhatPeopleRead form={form} change={change} />
      <HowPeopleSignIn form={form} change={change} />
      <WhatApplicationsGet form={form} change={change} />
    </SettingsForm>
  );
}

/** A part of the settings: its values, and the callback for changes. */
type Part = { form: TenantSettings; change(part: Partial<TenantSettings>): void };

function WhatPeopleRead({ form, change }: Part) {
  /** The first is the default. */
  const enabled = form.enabled_locales;
  return (
    <section className="panel form" aria-labelledby="who">
      <h2 id="who">What users see</h2>
      <TextField
        label="Friendly Name"
        name="friendly_name"
        value={form.friendly_name}
        onChange={(friendly_name) => change({ friendly_name })}
        hint="Your name on pages and in emails. Leave empty for Gatepost."
      />
      <TextField
        label="Logo"
        name="picture_url"
        value={form.picture_url}
        onChange={(picture_url) => change({ picture_url })}
        placeholder="https://example.com/logo.png"
      />
      <TextField
        label="Support Email"
        name="support_email"
        type="email"
        value={form.support_email}
        onChange={(support_email) => change({ support_email })}
      />
      <TextField
        label="Support URL"
        name="support_url"
        value={form.support_url}
        onChange={(support_url) => change({ support_url })}
        placeholder="https://example.com/help"
      />
      <CheckboxList
        legend="Languages"
        hint="The default is used unless a user asks for another."
        all={languages}
        chosen={enabled}
        onChange={(enabled_locales) => change({ enabled_locales })}
      />
      {enabled[0] !== undefined && (
        <Select
          label="Default language"
          value={enabled[0]}
          onChange={(first) => change({ enabled_locales: [first, ...enabled.filter((tag) => tag !== first)] })}
          options={enabled.map((tag) => [tag, languages.find(({ value }) => value === tag)?.text ?? tag] as const)}
        />
      )}
    </section>
  );
}

function HowPeopleSignIn({ form, change }: Part) {
  return (
    <section className="panel form" aria-labelledby="how">
      <h2 id="how">How users sign in</h2>
      <Checkbox isSelected={form.identifier_first} onChange={(identifier_first) => change({ identifier_first })}>
        Identifier First: ask for the identifier first, and for the password on the next page
      </Checkbox>
      <Checkbox isSelected={form.allow_signup} onChange={(allow_signup) => change({ allow_signup })}>
        Users can sign up
      </Checkbox>
    </section>
  );
}

function WhatApplicationsGet({ form, change }: Part) {
  const { api, may } = useGate();
  const apis = useQuery({
    queryKey: apisKey,
    queryFn: ({ signal }) => api.all<ResourceServer>('/resource-servers', signal),
    enabled: may('read:resource_servers'),
  });
  return (
    <section className="panel form" aria-labelledby="what">
      <h2 id="what">What applications get</h2>
      <Select
        label="Default Audience"
        value={form.default_audience}
        onChange={(default_audience) => change({ default_audience })}
        options={[
          ['', 'None: tokens requested without an API are opaque'] as const,
          ...(apis.data ?? [])
            .filter(({ is_system: isSystem }) => !isSystem)
            .map(({ identifier, name }) => [identifier, `${name} (${identifier})`] as const),
          ...(form.default_audience !== '' && !apis.data?.some(({ identifier }) => identifier === form.default_audience)
            ? [[form.default_audience, form.default_audience] as const]
            : []),
        ]}
      />
      <Select
        label="ID tokens of new applications are signed with"
        value={form.default_id_token_alg as (typeof algorithms)[number][0]}
        onChange={(default_id_token_alg) => change({ default_id_token_alg })}
        options={algorithms}
      />
      <Checkbox
        isSelected={form.oidc_conformant_claims}
        onChange={(oidc_conformant_claims) => change({ oidc_conformant_claims })}
      >
        Claims as in the standard; if off, as in Auth0, also in the ID token
      </Checkbox>
    </section>
  );
}
