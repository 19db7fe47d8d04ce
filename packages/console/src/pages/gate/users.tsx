/** People: search, and creation. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import type { Connection, User } from '../../api/management-types.ts';
import { Checkbox, SearchField, Select, TextField } from '../../ui/fields.tsx';
import { Refusals } from '../../ui/refusals.tsx';
import { Empty, isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { gatePage, useGate } from './gate-page.tsx';
import { connectionsKey } from './query-keys.ts';
import { type UserSearch, validateUserSearch } from './search.ts';
import { queryOf } from './user-query.ts';

type Found = { total: number; users: User[] };
const perPage = 25;

/** The search and the page are in the address, so that "back" from a person, and the link above them, lead there. */
export const Users = gatePage('Users', 'read:users', ({ search }: { search: UserSearch }) => {
  const { q: typed = '', page = 0 } = search;
  const { api, may } = useGate();
  const navigate = useNavigate();
  const [isMaking, setMaking] = useState(false);
  const q = queryOf(typed);
  const change = (next: UserSearch) =>
    void navigate({
      to: '/gate/users',
      search: validateUserSearch(next),
      replace: true,
      resetScroll: false,
      ignoreBlocker: true, // a person who is being created stays on the page
    });
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ['gate', 'users', q, page],
    queryFn: ({ signal }) =>
      api.get<Found>(
        `/users?${new URLSearchParams({ q, page: String(page), per_page: String(perPage), include_totals: 'true', sort: 'created_at:-1' })}`,
        signal,
      ),
    placeholderData: (before) => before,
  });
  return (
    <>
      <div className="title">
        <h1>Users</h1>
        <span className="grow" />
        {may('create:users') && (
          <Button className="button primary" aria-expanded={isMaking} onPress={() => setMaking(!isMaking)}>
            {isMaking ? 'Close' : 'New user'}
          </Button>
        )}
      </div>
      {isMaking && <NewUser search={search} />}
      <section className="panel" aria-label="List of users">
        <SearchField
          label="Find by name, email address, phone number or ID"
          value={typed}
          onChange={(text) => change({ q: text })}
          hint={
            <>
              Or use Lucene syntax: <code>email_verified:false AND logins_count:0</code>
            </>
          }
        />
        {isInTheWay(error, data) ? (
          <Problem error={error} onRetry={refetch} />
        ) : !data ? (
          <Loading what="users" />
        ) : data.total === 0 ? (
          <Empty title={typed ? 'No users match' : 'There are no users yet'} />
        ) : (
          <>
            <ul className="rows" aria-busy={isPlaceholderData}>
              {data.users.map((user) => (
                <li key={user.user_id}>
                  <Link
                    to="/gate/users/$userId"
                    params={{ userId: user.user_id }}
                    state={{ usersSearch: search }}
                    className="row"
                  >
                    <span className="grow">
                      <strong>{user.name}</strong>
                      <span className="soft">{user.email ?? user.phone_number ?? user.username}</span>
                    </span>
                    {user.blocked && <span className="tag bad">blocked</span>}
                    {user.email_verified === false && <span className="tag">email address not confirmed</span>}
                    <span className="soft when">
                      {user.last_login ? (
                        <>
                          signed in <Time at={user.last_login} />
                        </>
                      ) : (
                        'never signed in'
                      )}
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
            <Pages page={page} total={data.total} onChange={(other) => change({ q: typed, page: other })} />
          </>
        )}
      </section>
    </>
  );
});

function Pages({ page, total, onChange }: { page: number; total: number; onChange: (page: number) => void }) {
  if (total <= perPage) return <p className="hint">{total === 1 ? 'One user.' : `${total} users.`}</p>;
  const last = Math.min(Math.ceil(total / perPage), 1_000 / perPage) - 1;
  return (
    <div className="actions">
      <Button className="button small" isDisabled={page === 0} onPress={() => onChange(page - 1)}>
        Previous
      </Button>
      <span className="soft" aria-live="polite">
        {page * perPage + 1} to {Math.min((page + 1) * perPage, total)} of {total.toLocaleString()}
      </span>
      <Button className="button small" isDisabled={page >= last} onPress={() => onChange(page + 1)}>
        Next
      </Button>
      {total > 1_000 && page >= last && (
        <span className="hint">Only the first 1,000 are shown. Search to find others.</span>
      )}
    </div>
  );
}

function NewUser({ search }: { search: UserSearch }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const connections = useQuery({
    queryKey: connectionsKey,
    queryFn: ({ signal }) => api.all<Connection>('/connections', signal),
    // People who sign in at a provider are created there.
    select: (all) => all.filter(({ strategy }) => ['auth0', 'email', 'sms'].includes(strategy)),
    enabled: may('read:connections'),
  });
  const [chosen, setChosen] = useState('Username-Password-Authentication');
  const [address, setAddress] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [isVerified, setVerified] = useState(false);
  const found = connections.data?.find((each) => each.name === chosen) ?? connections.data?.[0];
  const { name: connection, strategy } = found ?? { name: chosen, strategy: 'auth0' };
  const isPhone = strategy === 'sms';
  const create = useMutation({
    mutationFn: () =>
      api.send<User>('POST', '/users', {
        connection,
        ...(isPhone
          ? { phone_number: address, phone_verified: isVerified }
          : { email: address, email_verified: isVerified }),
        ...(name.trim() !== '' && { name }),
        ...(strategy === 'auth0' && { password }),
        ...(strategy === 'auth0' && !isVerified && { verify_email: true }),
      }),
    onSuccess: async ({ user_id: userId }) => {
      await queries.invalidateQueries({ queryKey: ['gate', 'users'] });
      await navigate({ to: '/gate/users/$userId', params: { userId }, state: { usersSearch: search } });
    },
  });
  return (
    <Form
      className="panel form"
      aria-label="New user"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <h2>New user</h2>
      <Refusals error={create.error}>
        {connections.data && (
          <Select
            label="Connection"
            value={connection}
            onChange={setChosen}
            options={connections.data.map((each) => [each.name, each.name] as const)}
          />
        )}
        <TextField
          label={isPhone ? 'Phone number' : 'Email'}
          name={isPhone ? 'phone_number' : 'email'}
          type={isPhone ? 'tel' : 'email'}
          isRequired
          value={address}
          onChange={setAddress}
          {...(isPhone && { placeholder: '+15555550123' })}
        />
        <TextField label="Name" name="name" value={name} onChange={setName} />
        {strategy === 'auth0' && (
          <TextField
            label="Password"
            name="password"
            type="password"
            isRequired
            value={password}
            onChange={setPassword}
            hint="The user can choose another one by email."
          />
        )}
        <Checkbox isSelected={isVerified} onChange={setVerified}>
          {isPhone ? 'The phone number' : 'The email address'} is confirmed
          {strategy === 'auth0' && !isVerified ? '. If not, an email asks the user to confirm it' : ''}
        </Checkbox>
      </Refusals>
      <Button className="button primary" type="submit" isDisabled={create.isPending}>
        {create.isPending ? 'Creating …' : 'Create'}
      </Button>
    </Form>
  );
}
