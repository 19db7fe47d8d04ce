/**
 * The demo application, http://localhost:4599 under `npm start`: what a team would build on the gate and the post. It signs people in with
 * Auth0's own SDK for Express, shows their tokens, calls the webhook API on their behalf, and lists webhooks as they arrive.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { verify } from '@octokit/webhooks-methods';
import express, { type NextFunction, type Request, type Response } from 'express';
import openid from 'express-openid-connect';
import { publishEvents } from '../producer.ts';
import { page, problemPage } from './page.ts';

const port = Number(process.env.DEMO_PORT || 4599);
const baseURL = `http://localhost:${port}`;
// Deliveries to private addresses are refused except for this one, which `npm start` allows.
const receiverHost = process.env.DEMO_RECEIVER_HOST || '127.0.0.2';
const api = (process.env.WEBHOOK_API_URL || 'http://localhost:4500/').replace(/\/$/, '');
const repository = 'acme/widgets';
const hooksUrl = `${api}/repos/${repository}/hooks`;
const webhookSecret = randomBytes(24).toString('base64url');

type Arrived = { at: string; event: string; guid: string; signature: 'right' | 'wrong' | 'missing' };
const arrived: Arrived[] = [];
const watching = new Set<Response>();
const asEvent = (one: Arrived) => `data: ${JSON.stringify(one)}\n\n`;

const app = express();
app.disable('x-powered-by');
app.use(
  openid.auth({
    issuerBaseURL: process.env.ISSUER || 'http://localhost:4400/',
    baseURL,
    clientID: 'demo-web',
    clientSecret: 'demo-web-secret',
    secret: randomBytes(32).toString('hex'),
    authRequired: false,
    idpLogout: true,
    authorizationParams: {
      response_type: 'code',
      scope: 'openid profile email offline_access admin:repo_hook',
      audience: process.env.WEBHOOK_API_AUDIENCE || 'http://localhost:4500/',
    },
  }),
);

app.get('/', async (request, response) => {
  const { user, idTokenClaims, accessToken } = request.oidc;
  const claims =
    accessToken && JSON.parse(Buffer.from(accessToken.access_token.split('.')[1]!, 'base64url').toString());
  response.send(page({ user, idTokenClaims, claims, answer: undefined }));
});

app.post('/call', openid.requiresAuth(), (request, response) => show(request, response, 'GET', hooksUrl));

/** Registers the receiver's address as a hook of the repository, with a secret that only this process knows. */
app.post('/hook', openid.requiresAuth(), async (request, response) => {
  const url = `http://${receiverHost}:${port}/receive`;
  const config = { url, content_type: 'json', secret: webhookSecret };
  const hooks = (await (await call(request, 'GET', hooksUrl)).json()) as { id: number; config: { url: string } }[];
  const known = Array.isArray(hooks) && hooks.find((hook) => hook.config.url === url);
  if (known) await show(request, response, 'PATCH', `${hooksUrl}/${known.id}`, { config, events: ['*'], active: true });
  else await show(request, response, 'POST', hooksUrl, { config, events: ['*'] });
});

/** What one of the team's producers would do: publishes one event to RabbitMQ. */
app.post('/event', openid.requiresAuth(), async (_request, response) => {
  const amqpUrl = process.env.PRODUCER_AMQP_URL || process.env.AMQP_URL || 'amqp://guest:guest@127.0.0.1:5672';
  const body = Buffer.from(JSON.stringify({ action: 'opened', issue: { number: 1, title: 'It works' } }));
  const id = randomBytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  await publishEvents(amqpUrl, [{ id, type: 'issues', subject: repository, body }]);
  response.redirect(303, '/');
});

/** Everything that has arrived, oldest first, then each webhook as it arrives, as server-sent events. */
app.get('/arrived', openid.requiresAuth(), (request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  for (const one of arrived.toReversed()) response.write(asEvent(one));
  watching.add(response);
  request.once('close', () => watching.delete(response));
});

/** Calls the webhook API for a person, with the token that the gate issued for it. */
async function call(request: Request, method: string, url: string, body?: object): Promise<globalThis.Response> {
  let token = request.oidc.accessToken!; // guaranteed by requiresAuth
  if (token.isExpired()) token = await token.refresh();
  return fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token.access_token}`,
      'user-agent': 'gatepost-demo',
      accept: 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function show(request: Request, response: Response, method: string, url: string, body?: object): Promise<void> {
  const answered = await call(request, method, url, body);
  const answer = { line: `${method} ${url}`, status: answered.status, body: await answered.json() };
  const { user, idTokenClaims } = request.oidc;
  response.send(page({ user, idTokenClaims, claims: undefined, answer }));
}

type Failure = Error & { statusCode?: number; error_description?: string };

/** Express itself would show the stack. A callback fails with 400 if the sign-in was refused, or was begun or finished in another tab. */
app.use((error: Failure, _request: Request, response: Response, next: NextFunction) => {
  if (response.headersSent) return next(error);
  const { statusCode = 500, error_description: reason = error.message } = error;
  if (statusCode >= 500) console.error(error);
  const problem =
    statusCode < 500
      ? `Signing in did not work: it was refused, or another tab went on with it. (${reason})`
      : `Something went wrong: ${error.message}`;
  response.status(statusCode).send(problemPage(problem));
});

/** The receiver: checks each signature over the raw bytes before trusting anything. */
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const given = request.headers['x-hub-signature-256'];
  const signature = !given ? 'missing' : (await verify(webhookSecret, body, String(given))) ? 'right' : 'wrong';
  response.writeHead(signature === 'right' ? 200 : 401).end();
  const { 'x-github-event': event, 'x-github-delivery': guid } = request.headers;
  const one: Arrived = { at: new Date().toISOString(), event: String(event), guid: String(guid), signature };
  arrived.unshift(one);
  arrived.splice(50);
  for (const watcher of watching) watcher.write(asEvent(one));
});

const server = createServer(app);
for (const [one, host] of [
  [server, 'localhost'],
  [receiver, receiverHost],
] as const)
  await once(one.listen(port, host), 'listening');
process.send?.('ready');
const stop = () => process.exit(0);
process.once('SIGTERM', stop);
process.once('disconnect', stop);
