import { useAuth0 } from '@auth0/auth0-react';
import { useState } from 'react';

export function App() {
  const { isLoading, error, user, loginWithRedirect, logout, getAccessTokenSilently } = useAuth0();
  const [hooks, setHooks] = useState('');

  async function list() {
    const token = await getAccessTokenSilently();
    const answer = await fetch('http://localhost:4500/repos/acme/widgets/hooks', {
      headers: { authorization: `Bearer ${token}` },
    });
    setHooks(`${answer.status} ${JSON.stringify(await answer.json(), null, 2)}`);
  }

  if (isLoading) return <p>…</p>;
  if (error) return <p>{error.message}</p>;
  if (!user)
    return (
      <button type="button" onClick={() => loginWithRedirect()}>
        Log in
      </button>
    );
  return (
    <>
      <p>
        Signed in as {user.name}.{' '}
        <button type="button" onClick={() => logout({ logoutParams: { returnTo: window.location.origin } })}>
          Log out
        </button>
      </p>
      <button type="button" onClick={list}>
        List the hooks of acme/widgets
      </button>
      <pre>{hooks}</pre>
    </>
  );
}
