/** Finds a person by name, address, number or id, to be added to something. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import type { User } from '../../api/management-types.ts';
import { SearchField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { useGate } from './gate-page.tsx';
import { queryOf } from './user-query.ts';

type Found = Pick<User, 'user_id' | 'name' | 'email' | 'phone_number' | 'username'>;

export function FindPerson({
  label,
  known,
  onAdd,
  isPending,
}: {
  label: string;
  /** Ids of people already included. */
  known: readonly string[];
  onAdd: (userId: string) => void;
  isPending: boolean;
}) {
  const { api } = useGate();
  const [search, setSearch] = useState('');
  const { data, error } = useQuery({
    queryKey: ['gate', 'users', 'found', search],
    queryFn: ({ signal }) =>
      api.get<Found[]>(`/users?${new URLSearchParams({ q: queryOf(search), per_page: '5' })}`, signal),
    enabled: search !== '',
    placeholderData: (before) => before,
  });
  return (
    <div className="form">
      <SearchField
        label={label}
        value={search}
        onChange={setSearch}
        hint="By name, email address, phone number or ID."
      />
      {error && <Problem error={error} />}
      {search !== '' && data?.length === 0 && <p className="soft">No users match.</p>}
      {search !== '' && data && data.length > 0 && (
        <ul className="rows" aria-label="Matching users">
          {data.map((user) => (
            <li key={user.user_id} className="row">
              <span className="grow">
                <strong>{user.name}</strong>
                <span className="soft">{user.email ?? user.phone_number ?? user.username ?? user.user_id}</span>
              </span>
              {known.includes(user.user_id) ? (
                <span className="tag">already added</span>
              ) : (
                <Button
                  className="button small"
                  aria-label={`Add ${user.name}`}
                  isDisabled={isPending}
                  onPress={() => onAdd(user.user_id)}
                >
                  Add
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
