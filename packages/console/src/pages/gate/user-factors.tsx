/** A person's means of authentication besides a password: second factors, passkeys and recovery codes. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'react-aria-components';
import type { AuthenticationMethod, User } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Time } from '../../ui/time.tsx';
import { useGate } from './gate-page.tsx';
import { List, Row } from './list.tsx';
import { userKey } from './query-keys.ts';

const kinds: Record<string, string> = {
  totp: 'Authenticator app',
  phone: 'Text message',
  email: 'Email',
  'webauthn-roaming': 'Security key',
  'webauthn-platform': 'Fingerprint, face or PIN of a device',
  passkey: 'Passkey',
  'recovery-code': 'Recovery codes',
};

export function UserFactors({ user, path }: { user: User; path: string }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const at = `${path}/authentication-methods`;
  const key = [...userKey(user.user_id), 'factors'];
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => api.all<AuthenticationMethod>(at, signal) });
  const refresh = () => queries.invalidateQueries({ queryKey: userKey(user.user_id) });
  const remove = useMutation({
    mutationFn: (id: string) => api.send('DELETE', id === '' ? at : `${at}/${encodeURIComponent(id)}`),
    onSuccess: refresh,
  });
  const forget = useMutation({
    mutationFn: () => api.send('POST', `${path}/multifactor/actions/invalidate-remember-browser`),
    onSuccess: refresh,
  });
  const some = (list.data?.length ?? 0) > 0;
  return (
    <List
      title="Second factors and passkeys"
      none="None are set up."
      list={list}
      problem={remove.error ?? forget.error}
      after={
        some && (
          <div className="actions">
            {may('delete:authentication_methods') && (
              <Confirm
                label="Remove all"
                size="small"
                title={`Remove all of ${user.name}’s second factors and passkeys?`}
                action="Remove all of them"
                onConfirm={() => remove.mutate('')}
              >
                <p>
                  Recovery codes are removed too. Anybody who has the password can then sign in with it alone, or set up
                  a factor of their own. Make sure you know who is asking you to do this.
                </p>
              </Confirm>
            )}
            {may('update:users') && (
              <Button className="button small" isDisabled={forget.isPending} onPress={() => forget.mutate()}>
                Forget remembered browsers
              </Button>
            )}
            <span role="status" className="good-text">
              {forget.isSuccess ? 'The user is asked again in every browser.' : ''}
            </span>
          </div>
        )
      }
    >
      {(method) => (
        <Row
          key={method.id}
          title={kinds[method.type] ?? method.type}
          text={
            <>
              {[method.name, method.phone_number, method.email, leftOf(method)].filter(Boolean).join(', ')}
              {method.created_at && (
                <>
                  {' '}
                  since <Time at={method.created_at} />
                </>
              )}
              {method.last_auth_at && (
                <>
                  , last used <Time at={method.last_auth_at} />
                </>
              )}
            </>
          }
        >
          {method.type !== 'recovery-code' && may('delete:authentication_methods') && (
            <Confirm
              label="Remove"
              about={kinds[method.type] ?? method.type}
              size="small"
              title={`Remove ${kinds[method.type] ?? method.type}?`}
              action="Remove it"
              onConfirm={() => remove.mutate(method.id)}
            >
              <p>
                It can no longer be used to sign in. Make sure you know who is asking you to do this. The user can set
                it up again.
              </p>
            </Confirm>
          )}
        </Row>
      )}
    </List>
  );
}

const leftOf = ({ left }: AuthenticationMethod) => (left === undefined ? undefined : `${left} left`);
