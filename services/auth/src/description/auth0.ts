/** The endpoints of Auth0’s authentication API that OAuth 2.0 and OpenID Connect do not have. */
import {
  authorizationRequest,
  clientError,
  clientId,
  clientSecret,
  connection,
  malformed,
  oauthError,
  object,
  text,
  tooMany,
  toPage,
} from './fields.ts';
import type { Operation } from './openapi.ts';

const mfaToken = text('From the answer `mfa_required`', 'wV0dOZcaXl7pZbYcQX8o0T2Jk6a9mHqf1E3uRr5sN4g');
const refusals = { 400: oauthError, 401: oauthError, 429: tooMany };
const authenticator = object({
  id: text('', 'otp|dev_0Lq7yRk2bXcVnM1a'),
  authenticator_type: text('', 'otp'),
  type: text('', 'otp'),
  active: { type: 'boolean' },
  oob_channel: text(''),
  oob_channels: { type: 'array', items: { type: 'string' } },
  name: text(''),
});

/** A proof of work, in ALTCHA's form. */
const challenge = {
  description: 'Whether a challenge has to be solved; its solution is sent along as `captcha`',
  schema: object({
    required: { type: 'boolean' },
    provider: text(''),
    challenge: object({
      algorithm: text(''),
      challenge: text(''),
      maxnumber: { type: 'integer' },
      salt: text(''),
      signature: text(''),
    }),
  }),
  example: { required: false },
};

/** Operations by path and method. */
const challengeFor = (what: string, toDo: string): Record<string, Operation> => ({
  post: {
    id: `${what}-challenge`,
    tag: 'auth0',
    summary: `Get the challenge that has to be solved to ${toDo}, if there is one`,
    json: object({ client_id: clientId, login: text('Who wants to do it, if that is known', 'alice@example.com') }, [
      'client_id',
    ]),
    answers: { 200: challenge, 400: oauthError, 401: clientError },
  },
});

export const auth0: Record<string, Record<string, Operation>> = {
  '/v2/logout': {
    get: {
      id: 'auth0-logout',
      tag: 'auth0',
      summary: 'Send a browser here to sign somebody out, at Auth0’s address',
      query: {
        client_id: clientId,
        returnTo: text('Where to go afterwards: one of the logout URLs', 'http://localhost:3000'),
        federated: text('Signs out at the provider that the person signed in with as well'),
      },
      answers: {
        200: { description: 'A page that says so, if there is nowhere to go' },
        302: {
          description:
            'To `returnTo`, or without it to the first of the logout URLs; first to the provider with `federated`',
        },
        400: { description: 'A page that says what is wrong' },
      },
    },
  },
  '/passwordless/start': {
    post: {
      id: 'passwordless-start',
      tag: 'auth0',
      summary: 'Send a code or a link by mail, or a code by text message',
      json: object(
        {
          client_id: clientId,
          client_secret: clientSecret,
          connection: { ...connection, enum: ['email', 'sms'] },
          email: text('With `email`', 'alice@example.com'),
          phone_number: text('With `sms`'),
          send: { type: 'string', enum: ['code', 'link'], description: 'By mail', example: 'code' },
          authParams: { type: 'object', description: 'Parameters of the sign-in that the link starts' },
        },
        ['client_id', 'connection'],
      ),
      answers: {
        200: {
          description: 'The same whether or not anybody has that address',
          schema: object({
            email: text(''),
            email_verified: { type: 'boolean' },
            phone_number: text(''),
            phone_verified: { type: 'boolean' },
          }),
          example: { email: 'alice@example.com', email_verified: false },
        },
        400: oauthError,
        401: clientError,
        429: tooMany,
      },
    },
  },
  '/usernamepassword/challenge': challengeFor('login', 'sign in with a password'),
  '/passwordless/challenge': challengeFor('passwordless', 'ask for a code or a link'),
  '/dbconnections/signup/challenge': challengeFor('signup', 'sign up'),
  '/dbconnections/change_password/challenge': challengeFor('change-password', 'ask for the mail for a new password'),
  '/passwordless/verify': {
    post: {
      id: 'passwordless-verify',
      tag: 'auth0',
      summary: 'Check a code',
      json: object(
        {
          client_id: clientId,
          connection: { ...connection, enum: ['email', 'sms'] },
          email: text('With `email`', 'alice@example.com'),
          phone_number: text('With `sms`'),
          verification_code: text('The code that the person received', '123456'),
        },
        ['client_id', 'connection', 'verification_code'],
      ),
      answers: {
        200: { description: 'The code is right' },
        400: oauthError,
        401: clientError,
        403: oauthError,
        429: tooMany,
      },
    },
  },
  '/passwordless/verify_redirect': {
    get: {
      id: 'passwordless-verify-redirect',
      tag: 'auth0',
      summary: 'Send a browser here to sign somebody in with a code',
      query: {
        ...authorizationRequest,
        email: text('With `email`'),
        phone_number: text('With `sms`'),
        verification_code: text('The code that the person received', '123456'),
      },
      required: ['client_id', 'connection', 'verification_code'],
      answers: { ...toPage, 400: oauthError, 403: oauthError },
    },
  },
  '/mfa/challenge': {
    post: {
      id: 'mfa-challenge',
      tag: 'auth0',
      summary: 'Ask for the second factor of somebody whose token request was answered with `mfa_required`',
      json: object(
        {
          mfa_token: mfaToken,
          client_id: clientId,
          challenge_type: text('Which kinds the application can ask for', 'otp oob'),
          authenticator_id: text('One of `mfa/authenticators`'),
        },
        ['mfa_token', 'client_id'],
      ),
      answers: {
        200: {
          description: 'A code from the person’s app is expected, or one that is on its way',
          schema: object({ challenge_type: text(''), oob_code: text(''), binding_method: text('') }),
          example: { challenge_type: 'otp' },
        },
        ...refusals,
      },
    },
  },
  '/mfa/associate': {
    post: {
      id: 'mfa-associate',
      tag: 'auth0',
      summary: 'Begin to set up a second factor; its first code, at the token endpoint, confirms it',
      json: object(
        {
          authenticator_types: { type: 'array', items: { type: 'string', enum: ['otp', 'oob', 'email'] } },
          oob_channels: { type: 'array', items: { type: 'string', enum: ['sms', 'email'] } },
          phone_number: text('With `sms`'),
          email: text('With `email`; the person’s own address otherwise'),
          mfa_token: text('If it is not the bearer token'),
        },
        ['authenticator_types'],
      ),
      answers: {
        200: {
          description: 'What an app reads, or that a code is on its way; with the first factor, recovery codes too',
          schema: object({
            authenticator_type: text(''),
            secret: text(''),
            barcode_uri: text(''),
            oob_channel: text(''),
            oob_code: text(''),
            binding_method: text(''),
            recovery_codes: { type: 'array', items: { type: 'string' } },
          }),
          example: {
            authenticator_type: 'otp',
            secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
            barcode_uri: 'otpauth://totp/Acme:alice%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          },
        },
        403: oauthError,
        ...refusals,
      },
    },
  },
  '/mfa/authenticators': {
    get: {
      id: 'mfa-authenticators',
      tag: 'auth0',
      summary:
        'List the second factors of the person whom the bearer token stands for: an `mfa_token`, or an access token for the MFA API with `read:authenticators`',
      answers: {
        200: { description: 'All of them', schema: { type: 'array', items: authenticator } },
        400: malformed,
        401: oauthError,
      },
    },
  },
  '/mfa/authenticators/{id}': {
    delete: {
      id: 'mfa-remove-authenticator',
      tag: 'auth0',
      summary:
        'Remove a second factor, with an `mfa_token` that was exchanged for tokens, or an access token for the MFA API with `remove:authenticators`',
      answers: { 204: { description: 'Done' }, 400: malformed, 401: oauthError, 403: oauthError, 404: oauthError },
    },
  },
  '/dbconnections/signup': {
    post: {
      id: 'signup',
      tag: 'auth0',
      summary: 'Create an account with a password',
      json: object(
        {
          client_id: clientId,
          connection: text('A database', 'Username-Password-Authentication'),
          email: text('', 'bob@example.com'),
          password: text('', 'correct horse battery'),
          username: text(''),
          name: text(''),
          given_name: text(''),
          family_name: text(''),
          nickname: text(''),
          picture: text(''),
          user_metadata: { type: 'object' },
        },
        ['client_id', 'email', 'password'],
      ),
      answers: {
        200: {
          description: 'The account',
          schema: object(
            {
              _id: text(''),
              email: text(''),
              email_verified: { type: 'boolean' },
              username: text(''),
              name: text(''),
              nickname: text(''),
              user_metadata: { type: 'object' },
            },
            ['_id', 'email'],
          ),
          example: { _id: '58457fe6b27f4b91', email: 'bob@example.com', email_verified: false },
        },
        400: {
          description: 'What is wrong with it, in Auth0’s form',
          schema: object({
            name: text(''),
            code: text(''),
            description: {},
            message: text(''),
            policy: text(''),
            statusCode: { type: 'integer' },
            error: text(''),
            error_description: text(''),
          }),
          example: { name: 'BadRequestError', code: 'invalid_signup', description: 'Invalid sign up', statusCode: 400 },
        },
        401: clientError,
        429: tooMany,
      },
    },
  },
  '/dbconnections/change_password': {
    post: {
      id: 'change-password',
      tag: 'auth0',
      summary: 'Send the mail for a new password',
      json: object(
        {
          client_id: clientId,
          connection: text('A database', 'Username-Password-Authentication'),
          email: text('', 'bob@example.com'),
        },
        ['client_id', 'email'],
      ),
      answers: {
        200: {
          description: 'The same whether or not anybody has that address',
          mediaType: 'text/plain',
          schema: { type: 'string' },
          example: "We've just sent you an email to reset your password.",
        },
        400: oauthError,
        401: clientError,
        429: tooMany,
      },
    },
  },
};
