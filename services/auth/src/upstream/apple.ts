/** Apple's client secret: a JWT made from a key, anew for each request (developer.apple.com, "Creating a client secret"). */
import { importPKCS8, SignJWT } from 'jose';
import type { ClientAuth } from 'openid-client';

export function appleSecret({
  team_id,
  kid,
  app_secret,
}: {
  team_id: string;
  kid: string;
  app_secret: string;
}): ClientAuth {
  return async (server, client, body) => {
    const secret = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(team_id)
      .setSubject(client.client_id)
      .setAudience(server.issuer)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(await importPKCS8(app_secret, 'ES256'));
    body.set('client_id', client.client_id);
    body.set('client_secret', secret);
  };
}
