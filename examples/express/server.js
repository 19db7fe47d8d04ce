import { verify } from '@octokit/webhooks-methods';
import express from 'express';
import { auth as bearer, requiredScopes } from 'express-oauth2-jwt-bearer';
import openid from 'express-openid-connect';

const issuerBaseURL = process.env.ISSUER ?? 'http://localhost:4400/';
const port = 4701;
const app = express();

// Webhooks. The signature is made over the bytes of the body, so check it before anything reads them as JSON.
app.post('/webhook', express.raw({ type: '*/*', limit: '25mb' }), async (request, response) => {
  const signature = request.get('x-hub-signature-256');
  const isOurs = signature && (await verify('quick start secret', String(request.body), signature));
  if (!isOurs) return response.sendStatus(401);
  console.log(`webhook: ${request.get('x-github-event')} ${request.get('x-github-delivery')}`);
  response.sendStatus(204); // at once: slower work belongs in a queue
});

// An API that takes access tokens.
app.get(
  '/api/things',
  bearer({ issuerBaseURL, audience: 'https://api.example/' }),
  requiredScopes('read:things'),
  (request, response) => response.json({ things: ['gate', 'post'], caller: request.auth.payload.sub }),
);

// A website that people sign in to.
app.use(
  openid.auth({
    issuerBaseURL,
    baseURL: `http://localhost:${port}`,
    clientID: 'example-express',
    clientSecret: 'example-express-secret',
    secret: 'a long random text, which signs the session cookie',
    authRequired: false,
    idpLogout: true,
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
  }),
);
app.get('/', ({ oidc: { user } }, response) => {
  response.send(
    user ? `Signed in as ${escaped(user.name)}. <a href="/logout">Log out</a>` : '<a href="/login">Log in</a>',
  );
});

// A sign-in that was refused, or that another tab went on with. Without this Express shows the stack.
app.use('/callback', (error, _request, response, _next) => {
  const reason = escaped(error.error_description ?? error.message);
  response
    .status(error.statusCode ?? 500)
    .send(`Signing in did not work: ${reason}. <a href="/login">Log in again</a>`);
});

const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

app.listen(port, () => console.log(`http://localhost:${port}/`));
