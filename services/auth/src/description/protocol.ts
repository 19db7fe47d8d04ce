/** The endpoints of OAuth 2.0 and OpenID Connect, and the description itself. */
import {
  audience,
  authorizationRequest,
  clientError,
  clientId,
  clientSecret,
  integer,
  malformed,
  oauthError,
  object,
  scope,
  text,
  tokenAnswer,
  tooMany,
  toPage,
} from './fields.ts';
import type { Operation, Schema } from './openapi.ts';

export const protocolSchemas: Record<string, Schema> = {
  OAuthError: object({ error: text('A code'), error_description: text('For developers') }, ['error']),
  Tokens: object(
    {
      access_token: text('A JWT, or an opaque token'),
      token_type: { type: 'string', enum: ['Bearer', 'DPoP'] },
      expires_in: { type: 'integer' },
      scope: text('What the access token allows'),
      id_token: text('With the scope `openid`'),
      refresh_token: text('With the scope `offline_access`'),
      issued_token_type: text('After an exchange (RFC 8693)'),
    },
    ['access_token', 'token_type', 'expires_in'],
  ),
};

const code = 'SplxlOBeZQQYbYS6WxSbIA';

/** Operations by path and method. */
export const protocol: Record<string, Record<string, Operation>> = {
  '/.well-known/openid-configuration': {
    get: {
      id: 'discovery',
      tag: 'protocol',
      summary: 'Discovery: endpoints and what they support (OpenID Connect Discovery 1.0)',
      answers: {
        200: {
          description: 'The metadata',
          schema: object({ issuer: text(''), authorization_endpoint: text(''), token_endpoint: text('') }, ['issuer']),
          example: {
            issuer: 'http://localhost:4400/',
            authorization_endpoint: 'http://localhost:4400/authorize',
            token_endpoint: 'http://localhost:4400/oauth/token',
          },
        },
        400: malformed,
      },
    },
  },
  '/.well-known/jwks.json': {
    get: {
      id: 'jwks',
      tag: 'protocol',
      summary: 'The keys that tokens are signed with (RFC 7517)',
      answers: {
        200: {
          description: 'A key set',
          schema: object({ keys: { type: 'array', items: { type: 'object' } } }, ['keys']),
          example: {
            keys: [{ kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'hV2pTq', e: 'AQAB', n: 'xwQ72P9z9OYshiQ…' }],
          },
        },
        400: malformed,
      },
    },
  },
  '/authorize': {
    get: {
      id: 'authorize',
      tag: 'protocol',
      summary: 'Send a browser here to sign somebody in (RFC 6749 section 4.1.1)',
      query: authorizationRequest,
      required: ['client_id'],
      answers: {
        ...toPage,
        303: { description: 'The same as 302' },
        400: { description: 'A page that says what is wrong, if the answer cannot go back to the application' },
      },
    },
    post: {
      id: 'authorize-by-form',
      tag: 'protocol',
      summary: 'The same, with a form',
      form: object(authorizationRequest, ['client_id']),
      answers: {
        ...toPage,
        303: { description: 'The same as 302' },
        400: { description: 'A page that says what is wrong' },
      },
    },
  },
  '/oauth/par': {
    post: {
      id: 'push-authorization-request',
      tag: 'protocol',
      summary: 'Push an authorization request (RFC 9126)',
      form: object({ ...authorizationRequest, client_secret: clientSecret }, ['client_id']),
      answers: {
        201: {
          description: 'The request is kept for a minute',
          schema: object({ request_uri: text(''), expires_in: integer('Seconds', 60) }, ['request_uri', 'expires_in']),
          example: { request_uri: 'urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c', expires_in: 60 },
        },
        400: oauthError,
        401: clientError,
      },
    },
  },
  '/oauth/token': {
    post: {
      id: 'token',
      tag: 'protocol',
      summary: 'Get tokens (RFC 6749 section 4)',
      description:
        'By `grant_type`: `authorization_code`, `refresh_token`, `client_credentials`, `password`, `urn:ietf:params:oauth:grant-type:device_code`, `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693), `http://auth0.com/oauth/grant-type/passwordless/otp`, and with an `mfa_token` `http://auth0.com/oauth/grant-type/mfa-otp`, `…/mfa-oob`, `…/mfa-recovery-code`. A JSON object is accepted in place of a form.',
      form: object(
        {
          grant_type: text('What is exchanged for tokens', 'client_credentials'),
          client_id: text('The id of the application', 'demo-m2m'),
          client_secret: text(
            'The secret of the application, unless it authenticates in another way',
            'demo-m2m-secret',
          ),
          audience,
          scope: text('What the token should allow'),
          code: text('With `authorization_code`'),
          redirect_uri: text('With `authorization_code`: the same as in the authorization request'),
          code_verifier: text('With `authorization_code`: PKCE'),
          refresh_token: text('With `refresh_token`'),
          device_code: text('With the device code grant'),
          username: text('With `password`'),
          password: text('With `password`'),
          subject_token: text('With token exchange'),
          subject_token_type: text('With token exchange'),
          otp: text('With the passwordless grant: the code that the person received'),
          realm: text('With the passwordless grant: `email` or `sms`'),
        },
        ['grant_type'],
      ),
      answers: {
        200: { description: 'Tokens', schema: 'Tokens', example: tokenAnswer },
        400: oauthError,
        401: clientError,
        403: { ...oauthError, description: 'In Auth0’s form: `invalid_grant`, `access_denied` and others' },
        429: tooMany,
      },
    },
  },
  '/oauth/revoke': {
    post: {
      id: 'revoke',
      tag: 'protocol',
      summary: 'Revoke a token (RFC 7009)',
      form: object(
        { token: text('A refresh token or access token', code), client_id: clientId, client_secret: clientSecret },
        ['token'],
      ),
      answers: { 200: { description: 'It is revoked, or there was none' }, 400: oauthError, 401: clientError },
    },
  },
  '/oauth/introspect': {
    post: {
      id: 'introspect',
      tag: 'protocol',
      summary: 'Ask whether a token is active (RFC 7662)',
      description: 'For the application that got the token, and for the one that is its API.',
      form: object(
        { token: text('A refresh token or access token', code), client_id: clientId, client_secret: clientSecret },
        ['token'],
      ),
      answers: {
        200: {
          description: 'What the token says, or only that it is not active',
          schema: object(
            {
              active: { type: 'boolean' },
              scope: text(''),
              client_id: text(''),
              sub: text(''),
              exp: { type: 'integer' },
            },
            ['active'],
          ),
          example: {
            active: true,
            client_id: 'demo-web',
            sub: 'auth0|alice',
            scope: 'openid profile',
            exp: 1795348800,
          },
        },
        400: oauthError,
        401: clientError,
      },
    },
  },
  '/oauth/device/code': {
    post: {
      id: 'device-code',
      tag: 'protocol',
      summary: 'Get a code for a device without a browser (RFC 8628)',
      form: object({ client_id: text('The id of the application', 'demo-device'), scope, audience }, ['client_id']),
      answers: {
        200: {
          description: 'Codes: show `user_code`, and ask for tokens with `device_code`',
          schema: object(
            {
              device_code: text(''),
              user_code: text(''),
              verification_uri: text(''),
              verification_uri_complete: text(''),
              expires_in: { type: 'integer' },
              interval: { type: 'integer' },
            },
            ['device_code', 'user_code', 'verification_uri', 'expires_in'],
          ),
          example: {
            device_code: 'GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS',
            user_code: 'WDJB-MJHT',
            verification_uri: 'http://localhost:4400/activate',
            verification_uri_complete: 'http://localhost:4400/activate?user_code=WDJB-MJHT',
            expires_in: 900,
          },
        },
        400: oauthError,
        401: clientError,
      },
    },
  },
  '/activate': {
    get: {
      id: 'activate',
      tag: 'protocol',
      summary: 'The page where a person enters the code of a device',
      query: { user_code: text('The code to fill in', 'WDJB-MJHT') },
      answers: { 200: { description: 'A page' }, 400: malformed },
    },
  },
  '/userinfo': {
    get: {
      id: 'userinfo',
      tag: 'protocol',
      summary: 'Get who the access token stands for (OpenID Connect Core section 5.3)',
      bearer: true,
      answers: {
        200: {
          description: 'Claims, by the scopes of the token',
          schema: object({ sub: text(''), name: text(''), email: text(''), email_verified: { type: 'boolean' } }, [
            'sub',
          ]),
          example: { sub: 'auth0|alice', name: 'Alice', email: 'alice@example.com', email_verified: true },
        },
        400: malformed,
        401: {
          ...clientError,
          description: 'No token, or an invalid one',
          example: { error: 'invalid_token', error_description: 'invalid token provided' },
        },
        403: {
          ...oauthError,
          description: 'The token does not have the scope `openid`',
          example: { error: 'insufficient_scope', error_description: 'access token missing openid scope' },
        },
      },
    },
  },
  '/oidc/register': {
    post: {
      id: 'register',
      tag: 'protocol',
      summary: 'Register an application (RFC 7591)',
      description:
        'With an initial access token, which `POST /api/v2/registration-tokens` makes; without one, if the tenant’s flag `enable_dynamic_client_registration` is set.',
      bearer: true,
      json: object({
        client_name: text('', 'My application'),
        redirect_uris: { type: 'array', items: { type: 'string' }, example: ['http://localhost:3000/callback'] },
        grant_types: { type: 'array', items: { type: 'string' }, example: ['authorization_code'] },
        token_endpoint_auth_method: text('', 'client_secret_post'),
      }),
      answers: {
        201: {
          description: 'The application',
          schema: object({ client_id: text(''), client_secret: text(''), client_name: text('') }, ['client_id']),
          example: {
            client_id: 'x1rVGNYP9Y6LcDjwsGtGcBz3R1nYXf7c',
            client_secret: 'shown-once',
            client_name: 'My application',
          },
        },
        400: {
          ...oauthError,
          example: { error: 'invalid_client_metadata', error_description: 'redirect_uris is mandatory property' },
        },
        401: { ...clientError, example: { error: 'invalid_token', error_description: 'invalid token provided' } },
        429: tooMany,
      },
    },
  },
  '/oidc/logout': {
    get: {
      id: 'logout',
      tag: 'protocol',
      summary: 'Send a browser here to sign somebody out (OpenID Connect RP-Initiated Logout 1.0)',
      query: {
        id_token_hint: text('The ID token of the session'),
        client_id: clientId,
        post_logout_redirect_uri: text(
          'Where to go afterwards: one of the application’s logout URLs',
          'http://localhost:3000',
        ),
        state: text('Returned unchanged'),
      },
      answers: {
        200: { description: 'A page that asks first' },
        302: { description: 'Back to the application' },
        400: { description: 'A page that says what is wrong' },
      },
    },
  },
  '/openapi.json': {
    get: {
      id: 'openapi',
      tag: 'meta',
      summary: 'This description',
      answers: {
        200: { description: 'OpenAPI 3.0', schema: { type: 'object' }, example: { openapi: '3.0.3' } },
        400: malformed,
      },
    },
  },
};
