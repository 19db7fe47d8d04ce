// A program on somebody's computer: the browser signs in, and comes back to a port that the program opens for that moment (RFC 8252).
import { once } from 'node:events';
import { createServer } from 'node:http';
import * as client from 'openid-client';

const issuer = new URL(process.env.ISSUER ?? 'http://localhost:4400/');
const options = { execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [] };
const config = await client.discovery(issuer, 'demo-native', undefined, client.None(), options);

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const redirectUri = `http://127.0.0.1:${server.address().port}/callback`;
const verifier = client.randomPKCECodeVerifier();
const state = client.randomState();
const url = client.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope: 'openid profile email',
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  state,
});
console.log(`Open this address in your browser:\n\n${url.href}\n`);

let answer;
do {
  const [request, response] = await once(server, 'request');
  answer = new URL(request.url, redirectUri);
  response.setHeader('connection', 'close').end('You can close this window.\n');
} while (answer.pathname !== '/callback'); // browsers ask for icons, too
server.close();

const tokens = await client.authorizationCodeGrant(config, answer, {
  pkceCodeVerifier: verifier,
  expectedState: state,
});
const user = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
console.log(`Signed in as ${user.name} <${user.email}>.`);
