/** An application's settings, in Auth0's words. Only changed ones are sent. */
import { useQueryClient } from '@tanstack/react-query';
import type { Application, AppType } from '../../api/management-types.ts';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { Time } from '../../ui/time.tsx';
import { applicationKey } from './application.tsx';
import { type ApplicationForm, changes, formOf } from './application-form.ts';
import { applicationsKey } from './applications.tsx';
import { DeletePanel } from './delete-panel.tsx';
import { Area, CheckboxList, NumberField } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { algorithms, grantTypes, kinds } from './kinds.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

const usages = [
  ['deny', 'Individuals: users do not sign in to an organization'],
  ['allow', 'Both: users can sign in to an organization'],
  ['require', 'Business Users: users must sign in to an organization'],
] as const;

const behaviours = [
  ['no_prompt', 'No Prompt: the application names the organization'],
  ['pre_login_prompt', 'Prompt for Organization: users enter its name first'],
  ['post_login_prompt', 'Prompt for Credentials: users sign in first, then choose one of theirs'],
] as const;

const claims = [
  ['tenant', 'As in the tenant settings'],
  ['auth0', 'As in Auth0: also in the ID token, where its SDKs read them'],
  ['standard', 'As in the standard: from userinfo'],
] as const;

export function ApplicationSettings({ application }: { application: Application }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const id = application.client_id;
  const { form, save, change } = useSettings(
    application,
    formOf,
    (saved, now) => api.send<Application>('PATCH', `/clients/${encodeURIComponent(id)}`, changes(saved, now)),
    (changed) => {
      queries.setQueryData(applicationKey(id), changed);
      return queries.invalidateQueries({ queryKey: applicationsKey });
    },
  );
  const isMachine = form.app_type === 'non_interactive';
  const mayChange = may('update:clients');
  return (
    <>
      <SettingsForm
        isPage
        label="Settings"
        save={save}
        onSave={() => save.mutate()}
        mayChange={mayChange}
        note={
          <>
            <span className="grow" />
            <span className="soft">
              Created <Time at={application.created_at} />, updated <Time at={application.updated_at} />
            </span>
          </>
        }
      >
        <Basic form={form} change={change} />
        {!isMachine && <Uris form={form} change={change} />}
        {!isMachine && <Tokens form={form} change={change} />}
        {!isMachine && <Organizations form={form} change={change} />}
        <Advanced form={form} change={change} application={application} />
      </SettingsForm>
      {may('delete:clients') && (
        <DeletePanel
          what="application"
          name={application.name}
          path={`/clients/${encodeURIComponent(application.client_id)}`}
          list={{ to: '/gate/applications', key: applicationsKey }}
          itemKey={applicationKey(application.client_id)}
        >
          Users can no longer sign in to it, and all its tokens are revoked. This cannot be undone.
        </DeletePanel>
      )}
    </>
  );
}

/** A part of the settings: its values, and the callback for changes. */
type Part = { form: ApplicationForm; change(part: Partial<ApplicationForm>): void };

function Basic({ form, change }: Part) {
  return (
    <section className="panel form" aria-labelledby="basic">
      <h2 id="basic">Basic information</h2>
      <TextField label="Name" name="name" isRequired value={form.name} onChange={(name) => change({ name })} />
      <TextField
        label="Description"
        value={form.description}
        onChange={(description) => change({ description })}
        maxLength={140}
      />
      <TextField
        label="Application Logo"
        name="logo_uri"
        value={form.logo_uri}
        onChange={(logo_uri) => change({ logo_uri })}
        placeholder="https://example.com/logo.png"
        hint="Shown when users are asked for consent."
      />
      <Select
        label="Application Type"
        value={form.app_type}
        onChange={(app_type) => change({ app_type })}
        options={(Object.keys(kinds) as AppType[]).map((key) => [key, kinds[key].text] as const)}
      />
      <Checkbox isSelected={form.is_first_party} onChange={(is_first_party) => change({ is_first_party })}>
        First party: users are not asked for consent if the API allows skipping it
      </Checkbox>
    </section>
  );
}

function Uris({ form, change }: Part) {
  return (
    <section className="panel form" aria-labelledby="uris">
      <h2 id="uris">Application URIs</h2>
      <Area
        label="Allowed Callback URLs"
        name="callbacks"
        hint="Where users may be redirected after signing in. One per line, matched exactly."
        value={form.callbacks}
        onChange={(callbacks) => change({ callbacks })}
      />
      <Area
        label="Allowed Logout URLs"
        name="allowed_logout_urls"
        hint="Where users may be redirected after logging out."
        value={form.allowed_logout_urls}
        onChange={(allowed_logout_urls) => change({ allowed_logout_urls })}
      />
      <Area
        label="Allowed Web Origins"
        name="web_origins"
        hint="Pages that may sign in silently, such as https://app.example.com."
        value={form.web_origins}
        onChange={(web_origins) => change({ web_origins })}
      />
      <Area
        label="Allowed Origins (CORS)"
        name="allowed_origins"
        hint="Pages that may call the gate, in addition to those above and to the callbacks’."
        value={form.allowed_origins}
        onChange={(allowed_origins) => change({ allowed_origins })}
      />
    </section>
  );
}

const limited = { infinite_token_lifetime: false, infinite_idle_token_lifetime: false };
const unlimited = 'Not limited now: enter a number to limit it.';

function Tokens({ form, change }: Part) {
  return (
    <section className="panel form" aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      <Select label="ID token signature" value={form.alg} onChange={(alg) => change({ alg })} options={algorithms} />
      <Select
        label="Claims about the user"
        value={form.claims}
        onChange={(chosen) => change({ claims: chosen })}
        options={claims}
      />
      <Checkbox isSelected={form.rotates} onChange={(rotates) => change({ rotates })}>
        Refresh Token Rotation: each token works only once, and reusing one revokes its whole family
      </Checkbox>
      <NumberField
        label="Rotation Overlap Period (seconds)"
        name="refresh_token.leeway"
        hint="How long a rotated token still works, so that several tabs can renew at once."
        value={form.leeway}
        onChange={(leeway) => change({ leeway })}
      />
      <Checkbox isSelected={form.expires} onChange={(expires) => change({ expires, ...(expires && limited) })}>
        Refresh tokens expire
      </Checkbox>
      {form.expires && (
        <div className="pair">
          <NumberField
            label="Maximum Refresh Token Lifetime (seconds)"
            name="refresh_token.token_lifetime"
            hint={`After the sign-in. ${form.infinite_token_lifetime ? unlimited : 'Leave empty for 30 days.'}`}
            value={form.infinite_token_lifetime ? '' : form.token_lifetime}
            onChange={(token_lifetime) => change({ token_lifetime, infinite_token_lifetime: false })}
          />
          <NumberField
            label="Idle Refresh Token Lifetime (seconds)"
            name="refresh_token.idle_token_lifetime"
            hint={`After its last use. ${form.infinite_idle_token_lifetime ? unlimited : 'Leave empty for 15 days.'}`}
            value={form.infinite_idle_token_lifetime ? '' : form.idle_token_lifetime}
            onChange={(idle_token_lifetime) => change({ idle_token_lifetime, infinite_idle_token_lifetime: false })}
          />
        </div>
      )}
      <p className="hint">The lifetime of access tokens is a setting of their API.</p>
    </section>
  );
}

function Organizations({ form, change }: Part) {
  return (
    <section className="panel form" aria-labelledby="organizations">
      <h2 id="organizations">Organizations</h2>
      <Select
        label="Who signs in"
        value={form.organization_usage}
        onChange={(organization_usage) => change({ organization_usage })}
        options={usages}
      />
      {form.organization_usage === 'require' && (
        <Select
          label="Login Flow"
          value={form.organization_require_behavior}
          onChange={(organization_require_behavior) => change({ organization_require_behavior })}
          options={behaviours}
        />
      )}
      <TextField
        label="Application Login URI"
        name="initiate_login_uri"
        value={form.initiate_login_uri}
        onChange={(initiate_login_uri) => change({ initiate_login_uri })}
        placeholder="https://app.example.com/login"
        hint="Where the application starts a sign-in. Invitations lead there."
      />
    </section>
  );
}

function Advanced({ form, change, application }: Part & { application: Application }) {
  return (
    <section className="panel form" aria-labelledby="advanced">
      <h2 id="advanced">Advanced</h2>
      <CheckboxList
        legend="Grant Types"
        all={[
          ...grantTypes.map(([value, text]) => ({ value, text })),
          // From a plug-in, or known to Auth0 but not to Gatepost.
          ...application.grant_types
            .filter((value) => !grantTypes.some(([known]) => known === value))
            .map((value) => ({ value, text: <code>{value}</code> })),
        ]}
        chosen={form.grant_types}
        onChange={(grant_types) => change({ grant_types })}
      />
      <Checkbox isSelected={form.par} onChange={(par) => change({ par })}>
        Require Pushed Authorization Requests
      </Checkbox>
      <Checkbox isSelected={form.dpop} onChange={(dpop) => change({ dpop })}>
        Require Proof of Possession (DPoP)
      </Checkbox>
      <Checkbox isSelected={form.trustsAddress} onChange={(trustsAddress) => change({ trustsAddress })}>
        Trust Token Endpoint IP Header
      </Checkbox>
    </section>
  );
}
