import { Auth0Client } from '@auth0/nextjs-auth0/server';

export const auth0 = new Auth0Client({
  domain: 'http://localhost:4400', // in production a host alone, 'gate.example.com', without the next line
  allowInsecureRequests: true,
  clientId: 'example-nextjs',
  clientSecret: 'example-nextjs-secret',
  appBaseUrl: 'http://localhost:4703',
  secret: 'a long random text, which encrypts the session cookie',
  authorizationParameters: { audience: 'http://localhost:4500/', scope: 'openid profile email read:repo_hook' },
});
