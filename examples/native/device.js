// A device without a browser, or a program on a server: the person signs in elsewhere (RFC 8628).
import * as client from 'openid-client';

const issuer = new URL(process.env.ISSUER ?? 'http://localhost:4400/');
const options = { execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [] };
const config = await client.discovery(issuer, 'demo-native', undefined, client.None(), options);

const device = await client.initiateDeviceAuthorization(config, { scope: 'openid profile email' });
console.log(`Open this address in any browser:\n\n${device.verification_uri_complete}\n`);

const tokens = await client.pollDeviceAuthorizationGrant(config, device);
const user = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
console.log(`Signed in as ${user.name} <${user.email}>.`);
