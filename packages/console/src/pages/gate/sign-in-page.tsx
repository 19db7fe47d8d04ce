/** The look of the gate's pages, with a preview of each. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import type { Branding } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { noteChanged } from '../../ui/unsaved-input.ts';
import { changesOf, withLater } from '../changes.ts';
import { useDebounced } from './debounced.ts';
import { Area } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Frame, Language, NoPreview, previewed } from './preview.tsx';
import { SettingsForm } from './settings-form.tsx';

const brandingKey = ['gate', 'branding'];
const templateAt = '/branding/templates/universal-login';
const startTemplate = `<!DOCTYPE html>
<html>
  <head>
    {%- auth0:head -%}
    <style>
      body { background: #eef3f1; }
    </style>
  </head>
  <body>
    {%- auth0:widget -%}
  </body>
</html>
`;

export const SignInPage = gatePage('Sign-in page', 'read:branding', () => {
  const { api } = useGate();
  const branding = useQuery({
    queryKey: brandingKey,
    queryFn: ({ signal }) => api.get<Branding>('/branding', signal),
  });
  const template = useQuery({
    queryKey: [...brandingKey, 'template'],
    queryFn: async ({ signal }) => {
      try {
        return (await api.get<{ body: string }>(templateAt, signal)).body;
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 404) return null;
        throw error;
      }
    },
  });
  const error = branding.error ?? template.error;
  if (isInTheWay(error, branding.data && template.data))
    return <Problem error={error} onRetry={() => Promise.all([branding.refetch(), template.refetch()])} isPage />;
  if (!branding.data || template.data === undefined) return <Loading what="the sign-in page" />;
  return (
    <>
      <div className="title">
        <h1>Sign-in page</h1>
      </div>
      <Editor branding={branding.data} template={template.data} />
    </>
  );
});

const widths = [
  ['wide', 'Desktop'],
  ['narrow', 'Phone'],
] as const;

type Look = {
  logo: string;
  favicon: string;
  font: string;
  primary: string;
  background: string;
  template: string | null;
};

function Editor({ branding, template }: { branding: Branding; template: string | null }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [look, setLook] = useState<Look>(() => lookOf(branding, template));
  /** As shown at first, or saved here last: somebody else may have saved another meanwhile. */
  const [before, setBefore] = useState(look);
  const mayChange = may('update:branding');
  const save = useMutation({
    mutationFn: async () => {
      const changes = changesOf(brandingOf(before, branding), brandingOf(look, branding));
      const changed = await api.send<Branding>('PATCH', '/branding', changes);
      setBefore(lookOf(changed, before.template));
      setLook((now) => withLater(lookOf(changed, look.template), look, now));
      if (look.template === before.template) return;
      if (look.template === null) await api.send('DELETE', templateAt);
      else await api.send('PUT', templateAt, { template: look.template });
      setBefore(lookOf(changed, look.template));
    },
    // Also after a refused template: the rest may have been saved.
    onSettled: () => queries.invalidateQueries({ queryKey: brandingKey }),
  });
  const change = (part: Partial<Look>) => {
    save.reset();
    setLook({ ...look, ...part });
  };
  return (
    <div className="editor">
      <SettingsForm
        label="Appearance"
        save={save}
        onSave={() => save.mutate()}
        mayChange={mayChange}
        saved="Saved. Users see it now."
        buttons={
          <Confirm
            label="Reset"
            title="Reset the sign-in page?"
            action="Clear all fields"
            onConfirm={(button) => {
              noteChanged(button);
              change({ logo: '', favicon: '', font: '', primary: '', background: '', template: null });
            }}
          >
            <p>All fields are cleared. Nothing changes for users until you save.</p>
          </Confirm>
        }
      >
        <TextField
          label="Logo"
          name="logo_url"
          value={look.logo}
          onChange={(logo) => change({ logo })}
          placeholder="https://example.com/logo.svg"
          hint="Leave empty to use the logo of the tenant settings."
        />
        <TextField
          label="Favicon"
          name="favicon_url"
          value={look.favicon}
          onChange={(favicon) => change({ favicon })}
          placeholder="https://example.com/favicon.ico"
        />
        <div className="pair">
          <Colour
            label="Primary colour"
            name="colors.primary"
            value={look.primary}
            onChange={(primary) => change({ primary })}
          />
          {typeof branding.colors?.page_background !== 'object' && (
            <Colour
              label="Page background"
              name="colors.page_background"
              value={look.background}
              onChange={(background) => change({ background })}
            />
          )}
        </div>
        <TextField
          label="Font"
          name="font.url"
          value={look.font}
          onChange={(font) => change({ font })}
          placeholder="https://example.com/font.woff2"
        />
        <PageTemplate now={look.template} before={before.template} onChange={(template) => change({ template })} />
      </SettingsForm>
      {mayChange && <Preview look={look} branding={branding} />}
    </div>
  );
}

type Template = string | null;

/** A template can be turned off only by those who may delete it. */
function PageTemplate({ now, before, onChange }: { now: Template; before: Template; onChange(now: Template): void }) {
  const { may } = useGate();
  return (
    <>
      {(now === null || before === null || may('delete:branding')) && (
        <Checkbox isSelected={now !== null} onChange={(is) => onChange(is ? (before ?? startTemplate) : null)}>
          Use a custom page template
        </Checkbox>
      )}
      {now !== null && (
        <Area
          label="Template"
          rows={16}
          value={now}
          onChange={onChange}
          hint={
            <>
              Liquid, as in Auth0. It must contain <code>{'{%- auth0:head -%}'}</code> and{' '}
              <code>{'{%- auth0:widget -%}'}</code>. Scripts in it do not run.
            </>
          }
        />
      )}
    </>
  );
}

/** `reset-password` in a form for people. */
const titleOf = (page: string) => page.charAt(0).toUpperCase() + page.slice(1).replaceAll('-', ' ');

function Preview({ look, branding }: { look: Look; branding: Branding }) {
  const { api } = useGate();
  const [page, setPage] = useState('identifier');
  const [language, setLanguage] = useState('en');
  const [width, setWidth] = useState<'wide' | 'narrow'>('wide');
  const shown = useDebounced(look, 400);
  const pages = useQuery({
    queryKey: [...brandingKey, 'pages'],
    queryFn: ({ signal }) => api.get<{ page: string; themed: boolean }[]>('/branding/previews', signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const preview = useQuery({
    queryKey: [...brandingKey, 'preview', page, language, shown],
    queryFn: () =>
      api.send<{ url: string }>('POST', '/branding/previews', {
        page,
        ui_locales: language,
        branding: brandingOf(shown, branding),
        template: shown.template,
      }),
    ...previewed,
  });
  const themed = pages.data?.find((each) => each.page === page)?.themed ?? true;
  return (
    <section className="panel" aria-label="Preview">
      <div className="pair">
        <Select
          label="Page"
          value={page}
          onChange={setPage}
          options={(pages.data ?? [{ page: 'identifier' }]).map((each) => [each.page, titleOf(each.page)] as const)}
        />
        <Language value={language} onChange={setLanguage} />
        <Select label="Width" value={width} onChange={setWidth} options={widths} />
      </div>
      {!themed && look.template !== null && (
        <p className="hint">This page never uses a template, so that it works even if a template is broken.</p>
      )}
      {preview.error || !preview.data ? (
        <NoPreview error={preview.error} refetch={preview.refetch} />
      ) : (
        <Frame title={`Preview of the page ${page}`} url={preview.data.url} width={width} />
      )}
    </section>
  );
}

/** A colour as text, with the browser's own picker beside it. */
function Colour({
  label,
  name,
  value,
  onChange,
}: {
  label: string;
  name: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const isWhole = /^#[0-9a-f]{6}$/i.test(value);
  return (
    <div className="pair colour">
      <TextField label={label} name={name} value={value} onChange={onChange} placeholder="#0d5f50" />
      <input
        type="color"
        aria-label={`${label}, picker`}
        value={isWhole ? value : '#0d5f50'}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}

function lookOf({ logo_url, favicon_url, font, colors }: Branding, template: string | null): Look {
  const background = colors?.page_background;
  return {
    logo: logo_url ?? '',
    favicon: favicon_url ?? '',
    font: font?.url ?? '',
    primary: colors?.primary ?? '',
    background: typeof background === 'string' ? background : '',
    template,
  };
}

/** Keeps a gradient set through the API. */
function brandingOf({ logo, favicon, font, primary, background }: Look, { colors }: Branding) {
  return {
    logo_url: logo,
    favicon_url: favicon,
    font: { url: font },
    colors: { primary, ...(typeof colors?.page_background !== 'object' && { page_background: background }) },
  };
}
