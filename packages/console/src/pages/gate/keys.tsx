/** The keys that sign tokens: for each algorithm the current one, sometimes its successor, and previous ones. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { SigningKey } from '../../api/management-types.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { Time } from '../../ui/time.tsx';
import { gatePage, useGate } from './gate-page.tsx';

const keysKey = ['gate', 'keys'];

export const Keys = gatePage('Signing keys', 'read:signing_keys', () => {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: keysKey,
    queryFn: ({ signal }) => api.get<SigningKey[]>('/keys/signing', signal),
    refetchInterval: 15_000,
  });
  const refresh = () => queries.invalidateQueries({ queryKey: keysKey });
  const rotate = useMutation({ mutationFn: () => api.send('POST', '/keys/signing/rotate'), onSuccess: refresh });
  const revoke = useMutation({
    mutationFn: (kid: string) => api.send('PUT', `/keys/signing/${encodeURIComponent(kid)}/revoke`),
    onSuccess: refresh,
  });
  if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
  if (!data) return <Loading what="the keys" />;
  const hasNext = data.some(({ next }) => next);
  const sorted = data.toSorted((a, b) => order(a) - order(b) || b.current_since.localeCompare(a.current_since));
  return (
    <>
      <div className="title">
        <h1>Signing keys</h1>
        <span className="grow" />
        {may('update:signing_keys') && (
          <Confirm
            label={hasNext ? 'Use the next keys now' : 'Rotate'}
            title={hasNext ? 'Use the next keys now?' : 'Rotate the signing keys?'}
            action={hasNext ? 'Use them now' : 'Create new keys'}
            onConfirm={() => rotate.mutate()}
            kind="primary"
          >
            <p>
              {hasNext
                ? 'The next keys were published less than 15 minutes ago. Applications that have cached the keys and do not fetch them again will refuse the new tokens.'
                : 'A new key for each algorithm is published now, and starts signing in 15 minutes, when applications have fetched it. Tokens signed with the previous keys stay valid.'}
            </p>
          </Confirm>
        )}
      </div>
      {(rotate.error ?? revoke.error) && <Problem error={rotate.error ?? revoke.error} />}
      <p role="status" className="good-text">
        {rotate.isSuccess ? 'New keys are published.' : revoke.isSuccess ? 'The key is revoked.' : ''}
      </p>
      {[...new Set(sorted.map(({ alg }) => alg))].map((alg) => (
        <section key={alg} className="panel" aria-label={alg}>
          <h2>{alg}</h2>
          <ul className="rows">
            {sorted
              .filter((key) => key.alg === alg)
              .map((key) => (
                <li key={key.kid} className="row top-row">
                  <span className={`tag ${key.current ? 'good' : key.revoked ? 'bad' : key.next ? 'waits' : ''}`}>
                    {stateOf(key)}
                  </span>
                  <dl className="facts grow">
                    <Fact name="kid">
                      <code>{key.kid}</code>
                    </Fact>
                    <Fact name={key.next ? 'Signs from' : 'Signed from'}>
                      <Time at={key.current_since} exact />
                    </Fact>
                    {key.current_until && (
                      <Fact name="Until its last token expires">
                        <Time at={key.current_until} exact />
                      </Fact>
                    )}
                    {key.revoked_at && (
                      <Fact name="Revoked">
                        <Time at={key.revoked_at} exact />
                      </Fact>
                    )}
                    {key.fingerprint && (
                      <Fact name="Fingerprint">
                        <code>{key.fingerprint}</code>
                      </Fact>
                    )}
                  </dl>
                  <Copy text={key.cert} label="Copy certificate" />
                  {key.previous && !key.revoked && may('update:signing_keys') && (
                    <Confirm
                      label="Revoke"
                      title="Revoke this key?"
                      action="Revoke the key"
                      onConfirm={() => revoke.mutate(key.kid)}
                    >
                      <p>
                        All tokens signed with <code>{key.kid}</code> will be refused. Users and machines have to get
                        new ones.
                      </p>
                    </Confirm>
                  )}
                </li>
              ))}
          </ul>
        </section>
      ))}
    </>
  );
});

const stateOf = ({ revoked, current, next }: SigningKey) =>
  revoked ? 'revoked' : current ? 'current' : next ? 'next' : 'previous';
const order = (key: SigningKey) => ['next', 'current', 'previous', 'revoked'].indexOf(stateOf(key));
