/** Actions: the tenant's own code, and where and in which order it runs (docs/reference/actions.md). */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Action, ActionBinding } from '../../api/management-types.ts';
import { Select, TextField } from '../../ui/fields.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { gatePage, useGate } from './gate-page.tsx';

export const actionsKey = ['gate', 'actions'];

/** In Auth0's words, each with the function that an action exports for it. */
export const triggers = {
  'post-login': { text: 'Login / Post Login', handler: 'onExecutePostLogin' },
  'credentials-exchange': { text: 'Machine to Machine', handler: 'onExecuteCredentialsExchange' },
  'pre-user-registration': { text: 'Pre User Registration', handler: 'onExecutePreUserRegistration' },
  'post-user-registration': { text: 'Post User Registration', handler: 'onExecutePostUserRegistration' },
  'post-change-password': { text: 'Post Change Password', handler: 'onExecutePostChangePassword' },
} as const;
export type TriggerId = keyof typeof triggers;
const triggerIds = Object.keys(triggers) as TriggerId[];
export const triggerOf = ({ supported_triggers: [trigger] }: Pick<Action, 'supported_triggers'>) =>
  triggers[trigger?.id as TriggerId] ?? { text: trigger?.id ?? '', handler: '' };

export const Actions = gatePage('Actions', 'read:actions', () => {
  const { api, may } = useGate();
  const [isMaking, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: actionsKey,
    queryFn: ({ signal }) => api.get<{ actions: Action[]; total: number }>('/actions/actions?per_page=100', signal),
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="actions" />;
  return (
    <>
      <div className="title">
        <h1>Actions</h1>
        <span className="grow" />
        {may('create:actions') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New action'}
          </Button>
        )}
      </div>
      {isMaking && <NewAction />}
      <section className="panel" aria-label="Library">
        <h2>Library</h2>
        {data.actions.length === 0 && (
          <p className="soft">There are no actions yet. An action is your own code that runs when a user signs in.</p>
        )}
        <ul className="rows">
          {data.actions.map((action) => (
            <li key={action.id}>
              <Link to="/gate/actions/$actionId" params={{ actionId: action.id }} className="row">
                <span className="grow">
                  <strong>{action.name}</strong>
                  <span className="soft">{triggerOf(action).text}</span>
                </span>
                <State action={action} />
              </Link>
            </li>
          ))}
        </ul>
        {data.total > data.actions.length && <p className="hint">Only the first 100 of {data.total} are shown.</p>}
      </section>
      {triggerIds.map((id) => (
        <Flow key={id} trigger={id} actions={data.actions} />
      ))}
    </>
  );
});

export function State({ action }: { action: Action }) {
  if (!action.deployed_version) return <span className="tag">not deployed</span>;
  return action.all_changes_deployed ? (
    <span className="tag good">deployed</span>
  ) : (
    <span className="tag waits">undeployed changes</span>
  );
}

function NewAction() {
  const { api } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [trigger, setTrigger] = useState<TriggerId>('post-login');
  const create = useMutation({
    mutationFn: () =>
      api.send<Action>('POST', '/actions/actions', {
        name,
        supported_triggers: [{ id: trigger }],
        code: `exports.${triggers[trigger].handler} = async (event, api) => {\n};\n`,
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: actionsKey });
      await navigate({ to: '/gate/actions/$actionId', params: { actionId: id } });
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New action"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New action</h2>
      <TextField label="Name" isRequired value={name} onChange={setName} />
      <Select
        label="Trigger"
        value={trigger}
        onChange={setTrigger}
        options={triggerIds.map((id) => [id, triggers[id].text] as const)}
      />
      {create.error && <Problem error={create.error} />}
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}

/** The actions that run at a trigger, in order. */
export function useBindings(trigger: TriggerId) {
  const { api } = useGate();
  return useQuery({
    queryKey: bindingsKey(trigger),
    queryFn: async ({ signal }) =>
      (await api.get<{ bindings: ActionBinding[] }>(`${bindingsPath(trigger)}?per_page=100`, signal)).bindings,
  });
}

const bindingsKey = (trigger: TriggerId) => [...actionsKey, 'bindings', trigger];
const bindingsPath = (trigger: TriggerId) => `/actions/triggers/${trigger}/bindings`;

function Flow({ trigger, actions }: { trigger: TriggerId; actions: Action[] }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState('');
  const { data, error, refetch } = useBindings(trigger);
  const save = useMutation({
    mutationFn: (refs: { type: 'binding_id' | 'action_id'; value: string }[]) =>
      api.send('PATCH', bindingsPath(trigger), { bindings: refs.map((ref) => ({ ref })) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: bindingsKey(trigger) }),
  });
  const { text } = triggers[trigger];
  const bound = data ?? [];
  const refs = bound.map(({ id }) => ({ type: 'binding_id' as const, value: id }));
  const left = actions.filter(
    (action) =>
      action.supported_triggers[0]?.id === trigger &&
      action.deployed_version &&
      !bound.some((binding) => binding.action.id === action.id),
  );
  const next = left.some(({ id }) => id === chosen) ? chosen : (left[0]?.id ?? '');
  const move = (from: number, to: number) => {
    const moved = refs.toSpliced(from, 1).toSpliced(to, 0, refs[from]!);
    save.mutate(moved);
  };
  const mayChange = may('update:actions');
  return (
    <section className="panel" aria-label={text}>
      <h2>{text}</h2>
      {isInTheWay(error, data) ? (
        <Problem error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading what="actions" />
      ) : bound.length === 0 ? (
        <p className="soft">No actions run here.</p>
      ) : (
        <ol className="rows">
          {bound.map(({ id, display_name: name, action }, index) => (
            <li key={id} className="row">
              <span className="grow">
                {index + 1}.{' '}
                <Link to="/gate/actions/$actionId" params={{ actionId: action.id }}>
                  {name}
                </Link>
              </span>
              {mayChange && (
                <Order
                  name={name}
                  at={index}
                  of={bound.length}
                  isPending={save.isPending}
                  onMove={(to) => move(index, to)}
                  onTakeOff={() => save.mutate(refs.toSpliced(index, 1))}
                />
              )}
            </li>
          ))}
        </ol>
      )}
      {mayChange && left.length > 0 && (
        <div className="pair">
          <Select
            label="Another action"
            value={next}
            onChange={setChosen}
            options={left.map(({ id, name }) => [id, name] as const)}
          />
          <Button
            className="button"
            isDisabled={save.isPending}
            onPress={() => save.mutate([...refs, { type: 'action_id', value: next }])}
          >
            Add action
          </Button>
        </div>
      )}
      {save.error && <Problem error={save.error} />}
    </section>
  );
}

/** When one of a trigger's actions runs. */
function Order({
  name,
  at,
  of,
  isPending,
  onMove,
  onTakeOff,
}: {
  name: string;
  at: number;
  of: number;
  isPending: boolean;
  onMove(to: number): void;
  onTakeOff(): void;
}) {
  const button = (text: string, isDisabled: boolean, onPress: () => void) => (
    <Button
      className="button small"
      aria-label={`${text}: ${name}`}
      isDisabled={isDisabled || isPending}
      onPress={onPress}
    >
      {text}
    </Button>
  );
  return (
    <span className="actions">
      {button('Move up', at === 0, () => onMove(at - 1))}
      {button('Move down', at === of - 1, () => onMove(at + 1))}
      {button('Remove', false, onTakeOff)}
    </span>
  );
}
