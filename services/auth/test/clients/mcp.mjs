/**
 * A server and a client of the Model Context Protocol, by its SDK, as their authors would write them. A program of its own, because some of
 * the SDK's packages offer their sources under the condition by which ours are found. It prints one line of JSON for each step, and reads the
 * code of the sign-in.
 *
 *   node mcp.mjs ISSUER RESOURCE
 */
import { createInterface } from 'node:readline/promises';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const [issuer, address] = process.argv.slice(2);
const resource = new URL(address);
const say = (step) => console.log(JSON.stringify(step));

const oauthMetadata = await (await fetch(`${issuer}.well-known/oauth-authorization-server`)).json();
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));
const authenticate = requireBearerAuth({
  verifier: {
    async verifyAccessToken(token) {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: resource.href }).catch((error) => {
        throw new InvalidTokenError(error.message);
      });
      const { client_id: clientId, scope, exp: expiresAt, sub } = payload;
      return { token, clientId, scopes: scope.split(' '), expiresAt, extra: { sub } };
    },
  },
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
});
const application = express().use(express.json());
// The client asks for these: scopes that the middleware requires would take precedence, and bring no refresh token.
const scopesSupported = ['mcp:tools', 'offline_access'];
application.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: resource, scopesSupported }));
application.post(resource.pathname, authenticate, async (request, response) => {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Who calls' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: authInfo.scopes.includes('mcp:tools') ? authInfo.extra.sub : 'nobody' }],
  }));
  const transport = new StreamableHTTPServerTransport();
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
await new Promise((resolve) => application.listen(resource.port, resource.hostname, resolve));

/** What the client keeps for the SDK. */
const kept = {};
const redirectUrl = 'http://localhost:3118/callback';
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'Assistant',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => Object.assign(kept, { client }),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => Object.assign(kept, { tokens }),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => Object.assign(kept, { verifier }),
  redirectToAuthorization: (url) => Object.assign(kept, { url }),
};

async function whoami() {
  const client = new Client({ name: 'assistant', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(resource, { authProvider });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    say({ registered: kept.client, url: kept.url });
    const input = createInterface({ input: process.stdin });
    await transport.finishAuth((await input[Symbol.asyncIterator]().next()).value);
    input.close();
    return whoami();
  }
  const { content } = await client.callTool({ name: 'whoami', arguments: {} });
  await client.close();
  return content[0].text;
}

say({ who: await whoami() });
const { refresh_token: first } = kept.tokens;
kept.tokens.access_token = 'no longer valid';
say({ who: await whoami(), isRefreshed: kept.tokens.refresh_token !== first });
process.exit();
