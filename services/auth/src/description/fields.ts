/** Fields and answers shared by several endpoints. */
import type { Schema } from './openapi.ts';

export const text = (description: string, example?: unknown): Schema => ({
  type: 'string',
  description,
  ...(example !== undefined && { example }),
});
export const integer = (description: string, example: number): Schema => ({ type: 'integer', description, example });
export const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

export const clientId = text('The id of the application', 'demo-web');
export const clientSecret = text(
  'The secret of the application, unless it authenticates in another way (`Authorization: Basic`, `client_assertion`)',
);
const redirectUri = text(
  'Where the answer goes: one of the application’s callback URLs',
  'http://localhost:3000/callback',
);
export const connection = text('The connection that the account belongs to', 'email');
export const audience = text('The API that the access token is for', 'http://localhost:4500/');
export const scope = text('What the token should allow, separated by spaces', 'openid profile email offline_access');

export const oauthError = {
  description: 'The request is refused (RFC 6749 section 5.2)',
  schema: 'OAuthError',
  example: { error: 'invalid_grant', error_description: 'grant request is invalid' },
};
export const malformed = {
  description: 'The query is malformed',
  schema: 'OAuthError',
  example: { error: 'invalid_request', error_description: 'the request is malformed' },
};
export const clientError = {
  description: 'The application is unknown, or did not authenticate',
  schema: 'OAuthError',
  example: { error: 'invalid_client', error_description: 'client authentication failed' },
};
export const tooMany = {
  description: 'Too many requests; `Retry-After` says how long to wait, if that is known',
  schema: 'OAuthError',
  example: { error: 'too_many_requests', error_description: 'too many attempts; try again later' },
};
export const toPage = { 302: { description: 'To a page of the gate, or back to the application' } };

export const tokenAnswer = {
  access_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9…',
  token_type: 'Bearer',
  expires_in: 86400,
  scope: 'repo admin:repo_hook',
};

export const authorizationRequest = {
  client_id: clientId,
  response_type: text('`code`; others for applications that allow them', 'code'),
  redirect_uri: redirectUri,
  scope,
  audience,
  state: text('Returned unchanged', 'kQx7'),
  nonce: text('Returned in the ID token'),
  code_challenge: text(
    'PKCE (RFC 7636); required of public applications',
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  ),
  code_challenge_method: text('Only `S256`', 'S256'),
  response_mode: text('`query`, `fragment`, `form_post`, `web_message`, and the `jwt` forms'),
  prompt: text('`none`, `login`, `consent`'),
  max_age: text('How old the login may be, in seconds'),
  login_hint: text('The address to fill in'),
  ui_locales: text('Languages for the pages, the preferred one first', 'de en'),
  acr_values: text('How the person should authenticate'),
  connection: text('Offers only this connection'),
  screen_hint: text('`signup` opens the page for new accounts'),
  request_uri: text('From a pushed request (RFC 9126)'),
};
