/** A gate whose actions a test sets one after the other, as an administrator does. */
import { Browser } from '@gatepost/testkit/browser';
import type { LogLines } from '@gatepost/testkit/log-lines';
import { pkce } from '@gatepost/testkit/pkce';
import { expect } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Dependency } from '../src/actions/packages.ts';
import { openGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { api, fullSeed, web } from './seeds.ts';

type Form = Record<string, string>;
export type Tokens = {
  status: number;
  scope: string;
  access: Record<string, unknown>;
  id: Record<string, unknown>;
  json: Form;
};

const redirect_uri = 'https://app.example/cb';
export const password = 'correct horse battery staple';

export async function openActionsGate(env: Record<string, string> = {}, log?: LogLines, more: object = {}) {
  const gate = await openGate(
    {
      ...fullSeed,
      ...more,
      clients: [
        ...fullSeed.clients,
        // May prove a second factor by itself.
        {
          ...web,
          client_id: 'stepping',
          client_secret: 'stepping-secret',
          grant_types: [...web.grant_types, 'http://auth0.com/oauth/grant-type/mfa-otp'],
        },
        managerSeed([
          ...['read', 'create', 'update', 'delete'].map((verb) => `${verb}:actions`),
          'read:users',
          'update:users',
          'read:logs',
          'update:guardian_factors',
          'update:tenant_settings',
          'create:authentication_methods',
          'delete:authentication_methods',
        ]),
      ],
    },
    env,
    log,
  );
  let token: string | undefined;
  const manage = async (method: string, path: string, body?: unknown) => {
    token ??= await managerToken(gate);
    const response = await fetch(`${gate.issuer}api/v2/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const handlers: Record<string, string> = {
    'post-login': 'onExecutePostLogin',
    'credentials-exchange': 'onExecuteCredentialsExchange',
    'pre-user-registration': 'onExecutePreUserRegistration',
    'post-user-registration': 'onExecutePostUserRegistration',
    'post-change-password': 'onExecutePostChangePassword',
  };
  /** From now on these and no others run there, in this order; each is the body of the function that an action exports. */
  async function set(
    trigger: string,
    ...actions: (string | { body: string; secrets?: Form; before?: string; dependencies?: Dependency[] })[]
  ): Promise<void> {
    const ids: string[] = [];
    for (const given of actions) {
      const { body, secrets = {}, before = '', dependencies } = typeof given === 'string' ? { body: given } : given;
      const made = await manage('POST', 'actions/actions', {
        name: `action ${Math.random()}`,
        supported_triggers: [{ id: trigger }],
        code: `${before}\nexports.${handlers[trigger]} = async (event, api) => { ${body} };`,
        secrets: Object.entries(secrets).map(([name, value]) => ({ name, value })),
        ...(dependencies && { dependencies }),
        deploy: true,
      });
      expect([made.status, made.body]).toEqual([201, expect.anything()]);
      ids.push(made.body.id);
    }
    const bindings = ids.map((value) => ({ ref: { type: 'action_id', value } }));
    expect((await manage('PATCH', `actions/triggers/${trigger}/bindings`, { bindings })).status).toBe(200);
  }

  /** A whole sign-in by code, up to its tokens or the error in the redirect. */
  async function signIn(
    { client_secret = 'web-secret', ...given }: Form = {},
    browser = new Browser(gate),
  ): Promise<Tokens & { error: URLSearchParams }> {
    const { code_verifier, ...challenge } = pkce();
    const scope = 'openid profile email offline_access read:x';
    const request = {
      client_id: 'web',
      redirect_uri,
      response_type: 'code',
      audience: api,
      scope,
      state: 's',
      ...challenge,
      ...given,
    };
    let page = await browser.authorize(request);
    if (!page.location) page = await browser.logIn(page);
    const { searchParams } = page.location ?? new URL('https://nowhere.example/?error=no_redirect');
    const form = {
      grant_type: 'authorization_code',
      client_id: request.client_id,
      client_secret,
      redirect_uri,
      code: searchParams.get('code') ?? '',
      code_verifier,
    };
    return { ...(await ask(form)), error: searchParams };
  }

  async function ask(form: Form): Promise<Tokens> {
    const { status, json } = await gate.post('oauth/token', form);
    const { access_token, id_token, scope = '' } = json as Form;
    return {
      status,
      scope,
      json: json as Form,
      access: access_token?.includes('.') ? decodeJwt(access_token) : {},
      id: id_token ? decodeJwt(id_token) : {},
    };
  }
  const machine = (given: Form = {}) =>
    ask({
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience: api,
      ...given,
    });
  const byPassword = (given: Form = {}) =>
    ask({
      grant_type: 'password',
      client_id: 'trusted',
      client_secret: 'trusted-secret',
      username: 'alice@example.com',
      password,
      audience: api,
      scope: 'openid read:x',
      ...given,
    });
  const byExchange = (subject_token: string) =>
    ask({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'api',
      client_secret: 'api-secret',
      subject_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'urn:es',
    });
  const logs = async (q: string) =>
    (await manage('GET', `logs?${new URLSearchParams({ q })}`)).body as {
      client_id?: string;
      ip?: string;
      details: Record<string, unknown>;
    }[];

  return {
    ...gate,
    gate,
    manage,
    set,
    signIn,
    ask,
    machine,
    byPassword,
    byExchange,
    logs,
    [Symbol.asyncDispose]: () => gate[Symbol.asyncDispose](),
  };
}
