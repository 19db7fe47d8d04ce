/** Changes a person's name, email address, password and metadata. Each is a request of its own, as Auth0 demands. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { User } from '../../api/management-types.ts';
import { Checkbox, TextField } from '../../ui/fields.tsx';
import { Area } from './fields.tsx';
import { useGate } from './gate-page.tsx';
import { userKey } from './query-keys.ts';
import { readObject } from './read-object.ts';
import { SettingsForm } from './settings-form.tsx';

type Part = { user: User; path: string };

export function UserProfile({ user, path }: Part) {
  const provider = user.identities.find(({ provider, user_id: id }) => `${provider}|${id}` === user.user_id)?.provider;
  return (
    <section className="panel form" aria-label="Edit">
      <h2>Edit</h2>
      <Name user={user} path={path} />
      {/* Others have the address that their provider states. */}
      {(provider === 'auth0' || provider === 'email') && <Email user={user} path={path} />}
      {provider === 'auth0' && <Password user={user} path={path} />}
      <Metadata user={user} path={path} name="user_metadata" hint="What the user may know, and change." />
      <Metadata user={user} path={path} name="app_metadata" hint="What only applications and administrators change." />
    </section>
  );
}

function useChange({ user, path }: Part) {
  const { api } = useGate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: object) => api.send<User>('PATCH', path, change),
    onSuccess: (changed) => {
      queries.setQueryData(userKey(user.user_id), changed);
      return queries.invalidateQueries({ queryKey: ['gate'] });
    },
  });
}

function Name({ user, path }: Part) {
  const save = useChange({ user, path });
  const [name, setName] = useState(user.name);
  return (
    <SettingsForm className="form" label="Change the name" save={save} onSave={() => save.mutate({ name })}>
      <TextField
        label="Name"
        name="name"
        isRequired
        value={name}
        onChange={(text) => {
          save.reset();
          setName(text);
        }}
      />
    </SettingsForm>
  );
}

function Email({ user, path }: Part) {
  const save = useChange({ user, path });
  const [email, setEmail] = useState(user.email ?? '');
  const [isVerified, setVerified] = useState(user.email_verified ?? false);
  return (
    <SettingsForm
      className="form"
      label="Change the email address"
      save={save}
      onSave={() => save.mutate({ email, email_verified: isVerified })}
    >
      <TextField
        label="Email"
        name="email"
        type="email"
        isRequired
        value={email}
        onChange={(text) => {
          save.reset();
          setEmail(text);
          setVerified(false);
        }}
      />
      <Checkbox
        isSelected={isVerified}
        onChange={(is) => {
          save.reset();
          setVerified(is);
        }}
      >
        The email address is confirmed
      </Checkbox>
    </SettingsForm>
  );
}

function Password({ user, path }: Part) {
  const save = useChange({ user, path });
  const [password, setPassword] = useState('');
  return (
    <SettingsForm
      className="form"
      label="Set a new password"
      save={save}
      onSave={() => save.mutate({ password }, { onSuccess: () => setPassword('') })}
    >
      <TextField
        label="New password"
        name="password"
        type="password"
        isRequired
        value={password}
        onChange={(text) => {
          save.reset();
          setPassword(text);
        }}
        hint="The user’s sessions and tokens end. A password reset link lets them choose one that you do not know."
      />
    </SettingsForm>
  );
}

function Metadata({ user, path, name, hint }: Part & { name: 'user_metadata' | 'app_metadata'; hint: string }) {
  const save = useChange({ user, path });
  const [before, setBefore] = useState(user[name]);
  const [text, setText] = useState(() => textOf(user[name]));
  const [problem, setProblem] = useState<string>();
  const send = () => {
    const read = readObject(text);
    setProblem(read.problem);
    if (!read.value) return;
    const change = mergeOf(before, read.value);
    // The API clears the metadata when it is given an empty object.
    save.mutate(Object.keys(change).length > 0 ? { [name]: change } : {}, {
      onSuccess: (changed) => {
        setBefore(changed[name]);
        setText(textOf(changed[name]));
      },
    });
  };
  return (
    <SettingsForm className="form" label={`Change ${name}`} save={save} onSave={send}>
      <Area
        label={name}
        name={name}
        hint={hint}
        rows={4}
        value={text}
        problem={problem}
        onChange={(typed) => {
          save.reset();
          setProblem(undefined);
          setText(typed);
        }}
      />
    </SettingsForm>
  );
}

const textOf = (metadata: object) => JSON.stringify(metadata, null, 2);

/** The API merges: named keys are set, null removes, the rest stays, also what somebody else added meanwhile. */
function mergeOf(before: object, now: object): Record<string, unknown> {
  const [old, next] = [before, now] as Record<string, unknown>[];
  const names = Object.keys({ ...old, ...next });
  const changed = names.filter((name) => JSON.stringify(old?.[name]) !== JSON.stringify(next?.[name]));
  return Object.fromEntries(changed.map((name) => [name, next?.[name] ?? null]));
}
