import { createAuth0Client } from '@auth0/auth0-spa-js';

const auth0 = await createAuth0Client({
  domain: 'http://localhost:4400',
  clientId: 'example-spa',
  authorizationParams: {
    redirect_uri: window.location.origin,
    audience: 'http://localhost:4500/',
    scope: 'openid profile email read:repo_hook',
  },
});

const element = (id) => document.getElementById(id);

// Back from the gate: the code in the address becomes tokens, and leaves the address.
if (/[?&](code|error)=/.test(window.location.search)) {
  try {
    await auth0.handleRedirectCallback();
  } catch (error) {
    element('problem').textContent = error.message; // the person refused, say, or opened this address again
  }
  window.history.replaceState({}, '', '/');
}

const user = await auth0.getUser();
element('login').hidden = Boolean(user);
element('signed-in').hidden = !user;
element('name').textContent = user?.name ?? '';

element('login').onclick = () => auth0.loginWithRedirect();
element('logout').onclick = () => auth0.logout({ logoutParams: { returnTo: window.location.origin } });
element('list').onclick = async () => {
  const token = await auth0.getTokenSilently();
  const answer = await fetch('http://localhost:4500/repos/acme/widgets/hooks', {
    headers: { authorization: `Bearer ${token}` },
  });
  element('hooks').textContent = `${answer.status} ${JSON.stringify(await answer.json(), null, 2)}`;
};
