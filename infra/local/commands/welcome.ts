/** Tells a newcomer, once everything runs, where things are, who can sign in, what to try. */
import { join } from 'node:path';
import { type CertificateFiles, trustVariables } from '../processes/certificates.ts';
import { demoPort } from '../processes/services.ts';
import { quote, tlsIssuer, webhookApiUrl } from './environment.ts';

export function welcome(env: NodeJS.ProcessEnv, home: string, hasDemo: boolean, tls: CertificateFiles): string[] {
  const issuer = env.ISSUER?.replace(/\/?$/, '/');
  const api = webhookApiUrl(env);
  const audience = env.WEBHOOK_API_AUDIENCE || 'http://localhost:4500/';
  const ops = [env.AUTH_OPS_PORT, env.WEBHOOK_API_OPS_PORT, env.DISPATCHER_OPS_PORT];
  const mailbox = `  mailbox          http://localhost:${ops[0]}/mailbox   what the gate has sent; each link is shown here too`;
  const places = [
    '',
    ...(env.CONSOLE === 'off' ? [] : [`  console          ${api}console/`]),
    `  gate             ${issuer}`,
    `  webhook API      ${api}`,
    `  by https         ${tlsIssuer(env)}  https://localhost:${env.WEBHOOK_API_TLS_PORT}/`,
    `    to trust it    ${tls.root} in a browser; Node, Python, Go and curl by`,
    // Each trusts this file in addition to, or instead of, its own roots.
    `                   export ${trustVariables.map((name) => `${name}=${quote(tls.bundle)}`).join(' ')}`,
    `  events           exchange gatepost.events at PRODUCER_AMQP_URL in ${join(home, 'producer.env')}`,
    ...(!env.MAIL_URL || env.MAIL_URL.startsWith('file:') ? [mailbox] : []),
    `  metrics          ${ops.map((port) => `http://localhost:${port}/metrics`).join('  ')}`,
    `  logs             ${join(home, 'logs')}`,
  ];
  const demo = [
    `  logins           alice@example.com, administrator admin@example.com: password "correct horse battery staple";`,
    `                   machine demo-m2m, secret "demo-m2m-secret"`,
    '',
    '  Try, in another terminal:',
    '  1. the main job once more        npm run smoke',
    `  2. a token, and a question to    TOKEN=$(curl -s ${issuer}oauth/token -d grant_type=client_credentials -d client_id=demo-m2m \\`,
    `     the webhook API                 -d client_secret=demo-m2m-secret -d audience=${audience} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `                                   curl -s -H "Authorization: Bearer $TOKEN" ${api}repos/acme/widgets/hooks`,
    `  3. signing in as alice, and      http://localhost:${demoPort}/`,
    '     webhooks as they arrive',
  ];
  return [...places, ...(hasDemo ? demo : []), '', '  Ctrl-C stops everything that was started here.'];
}
