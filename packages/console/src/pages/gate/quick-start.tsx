/** Code that works as shown: the application's own names are filled in. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Application, ResourceServer } from '../../api/management-types.ts';
import { Copy } from '../../ui/copy.tsx';
import { Select } from '../../ui/fields.tsx';
import { fillIn, placeOf } from './fill-in.ts';
import { useGate } from './gate-page.tsx';
import { apisKey } from './query-keys.ts';
import { quickStarts } from './quick-starts.ts';
import { secretOf } from './secrets.ts';
import { answerUrl } from './try-answer.ts';

export function QuickStart({ application }: { application: Application }) {
  const { api, may } = useGate();
  const starts = quickStarts[application.app_type];
  const [name, setName] = useState(starts[0]!.name);
  const [chosen, setChosen] = useState('');
  const apis = useQuery({
    queryKey: apisKey,
    queryFn: ({ signal }) => api.all<ResourceServer>('/resource-servers', signal),
    enabled: may('read:resource_servers'),
  });
  const start = starts.find((each) => each.name === name)!;
  const secret = secretOf(application.client_id);
  const isConfidential = application.token_endpoint_auth_method !== 'none';
  // The console's own is there only while a sign-in is tried.
  const callbacks = application.callbacks.filter((url) => url !== answerUrl);
  const { missing, ...place } = placeOf(start, callbacks);
  const own = (apis.data ?? []).filter((each) => !each.is_system);
  const server =
    own.find(({ identifier }) => identifier === chosen) ??
    own.find(({ identifier }) => start.files.some(({ code }) => code.includes(identifier))) ??
    own[0];
  const namesApi = start.files.some(({ code }) => /https:\/\/api\.example\/|'http:\/\/localhost:4500\/'/.test(code));
  const filling = {
    issuer: api.issuer,
    clientId: application.client_id,
    secret,
    ...place,
    api: server && { identifier: server.identifier, scopes: server.scopes.map(({ value }) => value) },
  };
  return (
    <>
      <section className="panel form" aria-label="Quick start">
        <fieldset className="filters">
          <legend className="hidden">Framework</legend>
          {starts.map((each) => (
            <button key={each.name} type="button" aria-pressed={each.name === name} onClick={() => setName(each.name)}>
              {each.name}
            </button>
          ))}
        </fieldset>
        {own.length > 1 && server && namesApi && (
          <Select
            label="API to call"
            value={server.identifier}
            onChange={setChosen}
            options={own.map(({ identifier, name: text }) => [identifier, `${text} (${identifier})`] as const)}
          />
        )}
        <dl className="facts">
          <dt>Domain</dt>
          <dd>
            <code>{api.issuer}</code> <Copy text={api.issuer} />
          </dd>
          <dt>Client ID</dt>
          <dd>
            <code>{application.client_id}</code> <Copy text={application.client_id} />
          </dd>
          {isConfidential && (
            <>
              <dt>Client secret</dt>
              <dd>
                {secret === undefined ? (
                  <>
                    It is shown only once, when it is created.{' '}
                    {may('update:client_keys') && (
                      <Link
                        to="/gate/applications/$clientId"
                        params={{ clientId: application.client_id }}
                        search={{ tab: 'credentials' }}
                      >
                        Create another
                      </Link>
                    )}
                  </>
                ) : (
                  <>
                    <code className="url">{secret}</code> <Copy text={secret} />{' '}
                    <span className="hint">Copy it now. It is not shown again.</span>
                  </>
                )}
              </dd>
            </>
          )}
          <dt>SDK</dt>
          <dd>{start.sdk}</dd>
        </dl>
        {missing !== undefined && (
          <p className="note">
            The code below needs <code className="url">{missing}</code>
            {application.app_type === 'native' ? ' (on any port)' : ''} among the{' '}
            <Link to="/gate/applications/$clientId" params={{ clientId: application.client_id }} search={{}}>
              Allowed Callback URLs
            </Link>
            .
          </p>
        )}
      </section>
      {start.install !== '' && <Code title="Install" code={`${start.install}\n`} />}
      {start.files.map(({ file, code }) => (
        <Code key={file} title={file} code={fillIn(start, code, filling)} />
      ))}
      {start.run && <Code title="Run" code={`${fillIn(start, start.run, filling)}\n`} />}
    </>
  );
}

function Code({ title, code }: { title: string; code: string }) {
  return (
    <section className="panel" aria-label={title}>
      <div className="title">
        <h2>{title}</h2>
        <span className="grow" />
        <Copy text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <pre tabIndex={0}>{code}</pre>
    </section>
  );
}
