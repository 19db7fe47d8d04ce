/** The mails sent to people, in the tenant's own words, each with a preview. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import type { EmailTemplate } from '../../api/management-types.ts';
import { Checkbox, Select, TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { changesOf } from '../changes.ts';
import { useDebounced } from './debounced.ts';
import { Area, NumberField } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Frame, Language, NoPreview, previewed } from './preview.tsx';
import type { TemplateSearch } from './search.ts';
import { SettingsForm, useSettings } from './settings-form.tsx';

type Mail = {
  text: string;
  /** What happens without a template. */
  off: string;
  /** Whether it has a link, and not a code. */
  link: boolean;
  /** Where its link leads, where a template may choose. */
  redirect?: string;
  /** How long its link is valid by default, where a template may choose. */
  lifetime?: string;
};

const afterLink = 'Where users are redirected after using the link. Leave empty for the default page.';

/** The mails that exist, in Auth0's words, each with the fields that it heeds: docs/reference/mail.md. */
const templates = {
  verify_email: {
    text: 'Verification Email (using Link)',
    link: true,
    redirect: afterLink,
    lifetime: 'five days',
    off: 'Users are not asked to confirm their address.',
  },
  welcome_email: {
    text: 'Welcome Email',
    link: true,
    redirect: 'Where the link leads. Leave empty for the application’s own address.',
    off: 'It is not sent.',
  },
  reset_email: {
    text: 'Change Password (using Link)',
    link: true,
    redirect: afterLink,
    lifetime: 'an hour',
    off: 'The default text is sent.',
  },
  auth_email_by_code: { text: 'Sign-in by Code', link: false, off: 'The default text is sent.' },
  blocked_account: {
    text: 'Blocked Account Email',
    link: true,
    redirect: afterLink,
    lifetime: 'an hour',
    off: 'The user is not notified.',
  },
  user_invitation: {
    text: 'User Invitation',
    link: true,
    lifetime: 'a week',
    off: 'Invitations are not emailed.',
  },
} satisfies Record<string, Mail>;
type Name = keyof typeof templates;

const templateKey = (name: string) => ['gate', 'email template', name];

const isName = (text: string): text is Name => Object.hasOwn(templates, text);

export const EmailTemplates = gatePage(
  'Email templates',
  'read:email_templates',
  ({ template = '' }: TemplateSearch) => {
    const { api } = useGate();
    const navigate = useNavigate();
    const name = isName(template) ? template : 'verify_email';
    const { data, error, refetch } = useQuery({
      queryKey: templateKey(name),
      queryFn: async ({ signal }) => {
        try {
          return await api.get<EmailTemplate>(`/email-templates/${name}`, signal);
        } catch (problem) {
          if (problem instanceof ApiProblem && problem.status === 404) return null;
          throw problem;
        }
      },
    });
    return (
      <>
        <div className="title">
          <h1>Email templates</h1>
        </div>
        <section className="panel" aria-label="Which">
          <Select
            label="Template"
            value={name}
            onChange={(chosen) => void navigate({ to: '.', search: { template: chosen }, replace: true })}
            options={(Object.keys(templates) as Name[]).map((key) => [key, templates[key].text] as const)}
          />
        </section>
        {isInTheWay(error, data) ? (
          <Problem error={error} onRetry={refetch} />
        ) : data === undefined ? (
          <Loading what="the template" />
        ) : (
          <Editor key={name} name={name} saved={data} />
        )}
      </>
    );
  },
);

function Editor({ name, saved }: { name: Name; saved: EmailTemplate | null }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { off, link, redirect, lifetime }: Mail = templates[name];
  const path = `/email-templates/${name}`;
  const mayChange = may(saved ? 'update:email_templates' : 'create:email_templates');
  const send = async (before: EmailTemplate | null, now: WordsForm) => {
    const update = () => api.send<EmailTemplate>('PATCH', path, changesOf(bodyOf(formOf(before, name)), bodyOf(now)));
    if (before) return update();
    const made = { template: name, ...bodyOf(now) };
    return api.send<EmailTemplate>('POST', '/email-templates', made).catch((problem: unknown) => {
      // Somebody else made it meanwhile.
      if (problem instanceof ApiProblem && problem.status === 409) return update();
      throw problem;
    });
  };
  const { form, save, change } = useSettings(
    saved,
    (template) => formOf(template, name),
    send,
    (changed) => queries.setQueryData(templateKey(name), changed),
  );
  return (
    <div className="editor">
      <SettingsForm
        label="Content"
        save={save}
        onSave={() => save.mutate()}
        mayChange={mayChange}
        saved="Saved. The next email uses this template."
      >
        <Checkbox isSelected={form.enabled} onChange={(enabled) => change({ enabled })}>
          Use this template. Otherwise: {off}
        </Checkbox>
        <TextField
          label="From"
          value={form.from}
          onChange={(from) => change({ from })}
          placeholder="Acme <hello@example.com>"
          hint="Leave empty for the default sender."
        />
        <TextField
          label="Subject"
          value={form.subject}
          onChange={(subject) => change({ subject })}
          hint="Leave empty for the default subject."
        />
        <Area
          label="Message"
          rows={16}
          value={form.body}
          onChange={(body) => change({ body })}
          hint={
            <>
              HTML with Liquid, as in Auth0: <code>{link ? '{{ url }}' : '{{ code }}'}</code>,{' '}
              <code>{'{{ user.name | escape }}'}</code>, <code>{'{{ application.name }}'}</code>. Leave empty for the
              default text in the user’s language.
            </>
          }
        />
        {redirect && (
          <TextField
            label="Redirect To"
            value={form.resultUrl}
            onChange={(resultUrl) => change({ resultUrl })}
            placeholder="https://app.example.com/done"
            hint={redirect}
          />
        )}
        {lifetime && (
          <NumberField
            label="URL Lifetime (seconds)"
            value={form.lifetime}
            onChange={(lifetime) => change({ lifetime })}
            hint={`Leave empty for ${lifetime}.`}
          />
        )}
        {redirect && lifetime && (
          <Checkbox isSelected={form.includeEmail} onChange={(includeEmail) => change({ includeEmail })}>
            Include email address in the redirect URL
          </Checkbox>
        )}
      </SettingsForm>
      {may('update:email_templates') && <Preview name={name} form={form} />}
    </div>
  );
}

type Shown = { subject: string; from?: string; text: string; url: string };

function Preview({ name, form }: { name: Name; form: WordsForm }) {
  const { api } = useGate();
  const [language, setLanguage] = useState('en');
  const [kind, setKind] = useState<'html' | 'text'>('html');
  const { body, subject, from } = form;
  const words = useDebounced(JSON.stringify([body, subject, from]), 400);
  const { data, error, refetch } = useQuery({
    queryKey: [...templateKey(name), 'preview', language, words],
    queryFn: () => {
      const [html, line, sender] = JSON.parse(words) as string[];
      return api.send<Shown>('POST', `/email-templates/${name}/previews`, {
        body: html || null,
        subject: line || null,
        from: sender || null,
        ui_locales: language,
      });
    },
    ...previewed,
  });
  return (
    <section className="panel" aria-label="Preview">
      <div className="pair">
        <Language value={language} onChange={setLanguage} />
        <Select
          label="Format"
          value={kind}
          onChange={setKind}
          options={[
            ['html', 'HTML'],
            ['text', 'Text'],
          ]}
        />
      </div>
      {error || !data ? (
        <NoPreview error={error} refetch={refetch} />
      ) : (
        <>
          <p className="ids">
            <span className="soft">Subject</span> <strong>{data.subject}</strong>
            {data.from && <span className="soft">from {data.from}</span>}
          </p>
          {kind === 'html' ? (
            <Frame title="Preview of the email" url={data.url} />
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
            <pre tabIndex={0}>{data.text}</pre>
          )}
        </>
      )}
    </section>
  );
}

type WordsForm = ReturnType<typeof formOf>;

/** Without a template no welcome mail is sent, so writing one turns it on. */
function formOf(saved: EmailTemplate | null, name: Name) {
  return {
    enabled: saved ? saved.enabled : name !== 'welcome_email',
    from: saved?.from ?? '',
    subject: saved?.subject ?? '',
    body: saved?.body ?? '',
    resultUrl: saved?.resultUrl ?? '',
    lifetime: saved?.urlLifetimeInSeconds ? String(saved.urlLifetimeInSeconds) : '',
    includeEmail: saved?.includeEmailInRedirect ?? true,
  };
}

function bodyOf({ enabled, from, subject, body, resultUrl, lifetime, includeEmail }: WordsForm): object {
  return {
    enabled,
    from: from || null,
    subject: subject || null,
    body: body || null,
    resultUrl: resultUrl || null,
    urlLifetimeInSeconds: lifetime === '' ? null : Number(lifetime),
    includeEmailInRedirect: includeEmail,
    syntax: 'liquid',
  };
}
