/** One action: its code, its secrets, a trial with an event of one's own, and its versions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Action, ActionVersion } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { useTitle } from '../../ui/title.ts';
import { noteChanged } from '../../ui/unsaved-input.ts';
import { actionsKey, State, type TriggerId, triggerOf, triggers, useBindings } from './actions.tsx';
import { DeletePanel } from './delete-panel.tsx';
import { Area } from './fields.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { Head } from './head.tsx';
import { List, Row } from './list.tsx';

const actionKey = (id: string) => ['gate', 'action', id];
const actionsList = { to: '/gate/actions', key: actionsKey } as const;

export const ActionPage = gatePage('Action', 'read:actions', ({ actionId }: { actionId: string }) => {
  const { api, may } = useGate();
  const path = `/actions/actions/${encodeURIComponent(actionId)}`;
  const { data, error, refetch } = useQuery({
    queryKey: actionKey(actionId),
    queryFn: ({ signal }) => api.get<Action>(path, signal),
  });
  useTitle(data?.name ?? 'Action');
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the action" />;
  return (
    <>
      <Head back={<Link to="/gate/actions">Actions</Link>} name={data.name}>
        <span className="tag">{triggerOf(data).text}</span>
        <State action={data} />
      </Head>
      {data.supported_triggers
        .map(({ id }) => id as TriggerId)
        .filter((id) => data.deployed_version && triggers[id])
        .map((id) => (
          <Unbound key={id} action={data} trigger={id} />
        ))}
      <Draft key={actionId} action={data} path={path} />
      {may('create:actions') && <Try path={path} code={data.code} />}
      <Versions action={data} path={path} />
      {may('delete:actions') && (
        <DeletePanel what="action" name={data.name} path={path} list={actionsList} itemKey={actionKey(actionId)}>
          Its code, secrets and versions are deleted. An action that a trigger still runs cannot be deleted.
        </DeletePanel>
      )}
    </>
  );
});

/** A deployed action runs only where it was added. */
function Unbound({ action, trigger }: { action: Action; trigger: TriggerId }) {
  const { data } = useBindings(trigger);
  if (!data || data.some((binding) => binding.action.id === action.id)) return null;
  return (
    <p className="note">
      It does not run yet: <Link to="/gate/actions">add it to “{triggers[trigger].text}”</Link>.
    </p>
  );
}

/** An existing secret keeps its value unless another is typed. */
type Secret = { name: string; value: string; isNew: boolean };
const secretsOf = ({ secrets }: Action): Secret[] => secrets.map(({ name }) => ({ name, value: '', isNew: false }));

function Draft({ action, path }: { action: Action; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  /** What was changed here. Somebody else may change the rest meanwhile. */
  const [edited, setEdited] = useState<{ code?: string; secrets?: Secret[] }>({});
  const { code = action.code, secrets = secretsOf(action) } = edited;
  const isSame = code === action.code && JSON.stringify(secrets) === JSON.stringify(secretsOf(action));
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: actionKey(action.id) });
    await queries.invalidateQueries({ queryKey: actionsKey });
  };
  const save = useMutation({
    mutationFn: (sent: typeof edited) =>
      api.send<Action>('PATCH', path, {
        code: sent.code,
        secrets: sent.secrets?.map(({ name, value }) => ({ name, ...(value !== '' && { value }) })),
      }),
    onSuccess: (saved, sent) => {
      queries.setQueryData(actionKey(action.id), saved);
      setEdited((now) => (now === sent ? {} : now)); // it may have been edited again meanwhile
      return refresh();
    },
  });
  const deploy = useMutation({ mutationFn: () => api.send('POST', `${path}/deploy`), onSuccess: refresh });
  const mayChange = may('update:actions');
  const change = (some: typeof edited) => {
    save.reset();
    deploy.reset();
    setEdited({ ...edited, ...some });
  };
  return (
    <Form
      className="panel form"
      aria-label="Draft"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(edited);
      }}
    >
      <fieldset className="bare form" disabled={!mayChange}>
        <legend className="hidden">Draft</legend>
        <h2>Draft</h2>
        <Area
          label="Code"
          rows={20}
          value={code}
          onChange={(text) => change({ code: text })}
          hint={
            <>
              JavaScript, as in Auth0: <code>{`exports.${triggerOf(action).handler} = async (event, api) => …`}</code>
            </>
          }
        />
        <Packages action={action} />
        <Secrets secrets={secrets} onChange={(some) => change({ secrets: some })} mayChange={mayChange} />
      </fieldset>
      {(save.error ?? deploy.error) && <Problem error={save.error ?? deploy.error} />}
      <div className="actions">
        {mayChange && (
          <Button className="button primary" type="submit" isDisabled={save.isPending || isSame}>
            {save.isPending ? 'Saving …' : 'Save draft'}
          </Button>
        )}
        {may('create:actions') && (
          <Button
            className="button"
            isDisabled={deploy.isPending || !isSame || action.all_changes_deployed}
            onPress={() => {
              save.reset();
              deploy.mutate();
            }}
          >
            Deploy
          </Button>
        )}
        <span role="status" className="good-text">
          {deploy.isSuccess && action.all_changes_deployed ? 'Deployed.' : save.isSuccess && isSame ? 'Saved.' : ''}
        </span>
      </div>
    </Form>
  );
}

/** Read-only: packages are changed through the management API, and their folder by the operator. */
function Packages({ action: { dependencies } }: { action: Action }) {
  if (dependencies.length === 0) return null;
  return (
    <>
      <h3>npm packages</h3>
      <ul aria-label="npm packages">
        {dependencies.map(({ name, version }) => (
          <li key={name}>
            <code>{name}</code> {version}
          </li>
        ))}
      </ul>
    </>
  );
}

type SecretsProps = { secrets: Secret[]; onChange(secrets: Secret[]): void; mayChange: boolean };

function Secrets({ secrets, onChange, mayChange }: SecretsProps) {
  return (
    <>
      <h3>Secrets</h3>
      <p className="hint">
        The code reads them as <code>event.secrets</code>. Their values are not shown again.
      </p>
      {secrets.map((secret, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a name changes while it is typed
        <div key={index} className="pair">
          <TextField
            label="Secret name"
            isRequired
            isReadOnly={!secret.isNew}
            value={secret.name}
            onChange={(name) => onChange(secrets.with(index, { ...secret, name }))}
          />
          <TextField
            label="Value"
            type="password"
            isRequired={secret.isNew}
            value={secret.value}
            onChange={(value) => onChange(secrets.with(index, { ...secret, value }))}
            {...(!secret.isNew && { placeholder: 'unchanged' })}
          />
          {mayChange && (
            <Button
              className="button"
              onPress={({ target }) => {
                noteChanged(target);
                onChange(secrets.toSpliced(index, 1));
              }}
            >
              Remove
            </Button>
          )}
        </div>
      ))}
      {mayChange && (
        <Button className="button small" onPress={() => onChange([...secrets, { name: '', value: '', isNew: true }])}>
          Add a secret
        </Button>
      )}
    </>
  );
}

const sampleEvent = `{
  "event": {
    "user": { "user_id": "auth0|sample", "email": "jane@example.com", "name": "Jane Example" },
    "client": { "client_id": "demo-web", "name": "Demo Web App" }
  }
}`;

/** Runs the saved draft with an event of one's own. Nothing it asks for is carried out. */
function Try({ path, code }: { path: string; code: string }) {
  const { api } = useGate();
  const [payload, setPayload] = useState(sampleEvent);
  const run = useMutation({
    mutationFn: (_code: string) =>
      api.send<{ payload: object }>('POST', `${path}/test`, { payload: JSON.parse(payload) }),
  });
  // A saved change makes another program of it.
  const isOfThis = run.variables === code;
  return (
    <Form
      className="panel form"
      aria-label="Test"
      onSubmit={(event) => {
        event.preventDefault();
        run.mutate(code);
      }}
    >
      <h2>Test</h2>
      <Area
        label="Event"
        rows={7}
        value={payload}
        onChange={setPayload}
        hint="Runs the saved draft with this event. The result is shown, but nothing is carried out."
      />
      {run.error && isOfThis && <Problem error={run.error} />}
      <Button className="button" type="submit" isDisabled={run.isPending}>
        {run.isPending ? 'Running …' : 'Run'}
      </Button>
      {run.data && isOfThis && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        <pre tabIndex={0} role="log" aria-label="Result">
          {JSON.stringify(run.data.payload, null, 2)}
        </pre>
      )}
    </Form>
  );
}

function Versions({ action, path }: { action: Action; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: [...actionKey(action.id), 'versions'],
    queryFn: ({ signal }) => api.get<{ versions: ActionVersion[] }>(`${path}/versions?per_page=50`, signal),
    select: ({ versions }) => versions,
  });
  const deploy = useMutation({
    mutationFn: (id: string) => api.send('POST', `${path}/versions/${encodeURIComponent(id)}/deploy`, {}),
    onSuccess: () => queries.invalidateQueries({ queryKey: actionKey(action.id) }),
  });
  return (
    <List title="Versions" none="Not deployed yet." list={list} problem={deploy.error}>
      {(version) => (
        <Row
          key={version.id}
          title={`Version ${version.number}`}
          text={
            <>
              deployed <Time at={version.created_at} exact />
            </>
          }
        >
          {version.deployed ? (
            <span className="tag good">deployed</span>
          ) : (
            may('create:actions') && (
              <Confirm
                label="Deploy again"
                size="small"
                kind="primary"
                title={`Deploy version ${version.number} again?`}
                action="Deploy it"
                onConfirm={() => deploy.mutate(version.id)}
              >
                <p>It is deployed as a new version. The draft does not change.</p>
              </Confirm>
            )
          )}
        </Row>
      )}
    </List>
  );
}
