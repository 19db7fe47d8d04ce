import { Auth0Provider } from '@auth0/auth0-react';
import { createRoot } from 'react-dom/client';
import { App } from './App.jsx';

createRoot(document.getElementById('root')).render(
  <Auth0Provider
    domain="http://localhost:4400"
    clientId="example-react"
    authorizationParams={{
      redirect_uri: window.location.origin,
      audience: 'http://localhost:4500/',
      scope: 'openid profile email read:repo_hook',
    }}
  >
    <App />
  </Auth0Provider>,
);
