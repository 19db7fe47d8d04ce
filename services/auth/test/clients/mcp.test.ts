/**
 * The SDK of the Model Context Protocol, unmodified: its client knows only the address of a server, and finds the gate (RFC 9728, RFC 8414),
 * registers there, signs somebody in and calls a tool. The server checks our access tokens by the published keys.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthMetadata, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { openGate } from '../gate.ts';
import { fullSeed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** The server's address is the identifier of its API. */
const application = express().use(express.json());
const listener: Server = application.listen(0, 'localhost');
await once(listener, 'listening');
stack.defer(async () => {
  listener.closeAllConnections();
  await new Promise((resolve) => listener.close(resolve));
});
const resource = new URL(`http://localhost:${(listener.address() as AddressInfo).port}/mcp`);

const gate = stack.use(
  await openGate((issuer: string) => ({
    ...fullSeed,
    apis: [{ identifier: resource.href, name: 'Tools', allow_offline_access: true, scopes: ['mcp:tools'] }],
    clients: [
      {
        client_id: 'manager',
        client_secret: 'manager-secret',
        grant_types: ['client_credentials'],
        client_grants: [{ audience: `${issuer}api/v2/`, scope: ['update:tenant_settings'] }],
      },
    ],
  })),
);
const manager = await gate.post('oauth/token', {
  grant_type: 'client_credentials',
  client_id: 'manager',
  client_secret: 'manager-secret',
  audience: `${gate.issuer}api/v2/`,
});
await fetch(`${gate.issuer}api/v2/tenants/settings`, {
  method: 'PATCH',
  headers: { authorization: `Bearer ${manager.json.access_token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ flags: { enable_dynamic_client_registration: true } }),
});

const discovered = (await (
  await fetch(`${gate.issuer}.well-known/oauth-authorization-server`)
).json()) as OAuthMetadata;
const keys = createRemoteJWKSet(new URL(String(discovered.jwks_uri)));
application.use(
  mcpAuthMetadataRouter({
    oauthMetadata: discovered,
    resourceServerUrl: resource,
    scopesSupported: ['mcp:tools', 'offline_access'],
  }),
);
const authenticate = requireBearerAuth({
  verifier: {
    async verifyAccessToken(token) {
      const { payload } = await jwtVerify(token, keys, { issuer: gate.issuer, audience: resource.href });
      const { client_id, azp, scope, exp, sub } = payload as Record<string, string> & { exp: number };
      return { token, clientId: client_id ?? azp!, scopes: scope!.split(' '), expiresAt: exp, extra: { sub } };
    },
  },
  requiredScopes: ['mcp:tools'],
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
});
application.post('/mcp', authenticate, async (request, response) => {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Who calls' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: String(authInfo?.extra?.sub) }],
  }));
  const transport = new StreamableHTTPServerTransport();
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});

/** What an application keeps for the SDK. */
class Kept implements OAuthClientProvider {
  readonly redirectUrl = 'http://localhost:3118/callback';
  readonly clientMetadata = {
    client_name: 'Assistant',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  client?: OAuthClientInformationMixed;
  kept?: OAuthTokens;
  verifier = '';
  asked?: URL;
  clientInformation = () => this.client;
  tokens = () => this.kept;
  codeVerifier = () => this.verifier;
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.client = client;
  }
  saveTokens(tokens: OAuthTokens) {
    this.kept = tokens;
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier;
  }
  redirectToAuthorization(url: URL) {
    this.asked = url;
  }
}

test('an MCP client that knows only the server’s address registers itself, signs somebody in, calls a tool and refreshes', async () => {
  const authProvider = new Kept();
  const connect = async () => {
    const client = new Client({ name: 'assistant', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(resource, { authProvider }));
    return client;
  };
  const whoami = async () => {
    await using client = await connect().then((opened) => ({ opened, [Symbol.asyncDispose]: () => opened.close() }));
    return (await client.opened.callTool({ name: 'whoami', arguments: {} })).content;
  };
  const unauthorized = new StreamableHTTPClientTransport(resource, { authProvider });
  const beginning = new Client({ name: 'assistant', version: '1.0.0' }).connect(unauthorized);
  await expect(beginning).rejects.toBeInstanceOf(UnauthorizedError);
  expect(authProvider.client).toMatchObject({ client_name: 'Assistant', token_endpoint_auth_method: 'none' });
  expect(Object.fromEntries(authProvider.asked!.searchParams)).toMatchObject({
    client_id: authProvider.client!.client_id,
    code_challenge_method: 'S256',
    resource: resource.href,
  });

  const browser = new Browser(gate);
  const consent = await browser.logIn(await browser.get(authProvider.asked!.href));
  expect(consent.html).toContain('Assistant');
  const { location } = await browser.submit(consent, { action: 'default' });
  await unauthorized.finishAuth(location!.searchParams.get('code')!);
  const alice = [{ type: 'text', text: 'auth0|alice' }];
  expect(await whoami()).toEqual(alice);

  const { refresh_token: first } = authProvider.kept!;
  authProvider.kept = { ...authProvider.kept!, access_token: 'no longer valid' };
  expect(await whoami()).toEqual(alice);
  expect(authProvider.kept.refresh_token).not.toBe(first);
});
