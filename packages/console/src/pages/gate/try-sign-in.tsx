/** Signs in to an application as a person would, in a separate window, and shows what the application would have received. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Application } from '../../api/management-types.ts';
import { Unreachable } from '../../session/errors.ts';
import { Checkbox, TextField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { applicationKey } from './application.tsx';
import { useGate } from './gate-page.tsx';
import { originOf } from './origin.ts';
import { secretOf } from './secrets.ts';
import { answers, answerUrl } from './try-answer.ts';

type Begun = { state: string; verifier: string };
type Result =
  | { kind: 'refused'; error: string; description: string }
  | { kind: 'code'; why: string }
  | { kind: 'tokens'; tokens: Record<string, unknown> };

export function TrySignIn({ application }: { application: Application }) {
  const { api, may } = useGate();
  const queries = useQueryClient();
  const [begun, setBegun] = useState<Begun>();
  const [isBlocked, setBlocked] = useState(false);
  const [scope, setScope] = useState('openid profile email');
  const [asksAgain, setAsksAgain] = useState(true);
  const [secret, setSecret] = useState(secretOf(application.client_id) ?? '');
  const isConfidential = application.token_endpoint_auth_method !== 'none';
  const isAllowed = application.callbacks.includes(answerUrl);
  const path = `/clients/${encodeURIComponent(application.client_id)}`;
  const keep = (changed: Application) => queries.setQueryData(applicationKey(application.client_id), changed);
  const allow = useMutation({
    mutationFn: async () => {
      const changed = await api.send<Application>('PATCH', path, withAnswer(application));
      localStorage.setItem(addedKey(application), String(!application.web_origins.includes(origin)));
      return changed;
    },
    onSuccess: keep,
  });
  const remove = useMutation({
    mutationFn: async () => {
      const changed = await api.send<Application>('PATCH', path, withoutAnswer(application));
      localStorage.removeItem(addedKey(application));
      return changed;
    },
    onSuccess: keep,
  });
  const redeem = useMutation({
    mutationFn: ({ search, verifier }: { search: string; verifier: string }) =>
      readAnswer(api.issuer, application, new URLSearchParams(search), verifier, secret),
  });
  const { mutate } = redeem;
  useEffect(() => {
    if (!begun) return;
    return answers((search) => {
      if (new URLSearchParams(search).get('state') === begun.state) mutate({ search, verifier: begun.verifier });
    });
  }, [begun, mutate]);
  const open = async () => {
    const verifier = random();
    const state = random();
    redeem.reset();
    setBegun({ state, verifier });
    const address = `${api.issuer}authorize?${new URLSearchParams({
      client_id: application.client_id,
      redirect_uri: answerUrl,
      response_type: 'code',
      scope,
      state,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
      ...(asksAgain && { prompt: 'login' }),
    })}`;
    setBlocked(window.open(address, 'try', 'popup,width=480,height=720') === null);
  };
  return (
    <>
      <section className="panel form" aria-label="Try it">
        <p className="soft">
          Opens the sign-in page as the application would, and shows the result here. The response goes to{' '}
          <code className="url">{answerUrl}</code>, which must be among the Allowed Callback URLs meanwhile. The user
          who signs in there stays signed in at the gate in this browser. If you then reload the console, you are that
          user.
        </p>
        {!isAllowed ? (
          may('update:clients') ? (
            <Button className="button" isDisabled={allow.isPending} onPress={() => allow.mutate()}>
              Allow this callback URL
            </Button>
          ) : (
            <p>Somebody who can change the application can add it.</p>
          )
        ) : (
          <>
            <TextField label="Scope" value={scope} onChange={setScope} />
            {isConfidential && (
              <TextField
                label="Client secret"
                type="password"
                value={secret}
                onChange={setSecret}
                hint="To exchange the code for tokens. It is sent only to the gate. Without it, you only see that a code arrived."
              />
            )}
            <Checkbox isSelected={asksAgain} onChange={setAsksAgain}>
              Ask for a login even if a user is already signed in (prompt=login)
            </Checkbox>
            <div className="actions">
              <Button className="button primary" onPress={open}>
                Try sign-in
              </Button>
              {may('update:clients') && (
                <Button className="button" isDisabled={remove.isPending} onPress={() => remove.mutate()}>
                  Remove this callback URL
                </Button>
              )}
            </div>
          </>
        )}
        {(allow.error ?? remove.error) && <Problem error={allow.error ?? remove.error} />}
        {isBlocked && <p className="note">Your browser blocked the window. Allow pop-ups for this page.</p>}
      </section>
      <div role="status">
        {begun && !isBlocked && redeem.isIdle && (
          <p className="note">
            Waiting for the response … If the window shows an error, see{' '}
            <Link to="/gate/log" search={{ client: application.client_id, kind: 'refused' }}>
              the log of refused requests
            </Link>{' '}
            for the reason.
          </p>
        )}
        {redeem.isPending && <p className="note">Exchanging the code for tokens …</p>}
      </div>
      {redeem.error && <Problem error={redeem.error} />}
      {redeem.data && <Shown result={redeem.data} clientId={application.client_id} />}
    </>
  );
}

function Shown({ result, clientId }: { result: Result; clientId: string }) {
  if (result.kind === 'refused')
    return (
      <section className="panel" aria-label="Result">
        <h2 className="bad-text">Refused: {result.error}</h2>
        <p>{result.description}</p>
        <Link to="/gate/log" search={{ client: clientId, kind: 'refused' }}>
          The log of refused requests
        </Link>
      </section>
    );
  if (result.kind === 'code')
    return (
      <section className="panel" aria-label="Result">
        <h2 className="good-text">The sign-in works: a code was returned</h2>
        <p>{result.why}</p>
      </section>
    );
  const { id_token: idToken, access_token: accessToken, ...rest } = result.tokens;
  return (
    <section className="panel" aria-label="Result">
      <h2 className="good-text">The sign-in works</h2>
      <h3>ID token</h3>
      <Json value={claimsOf(idToken) ?? 'none: the scope openid was not requested'} />
      <h3>Access token</h3>
      <Json value={claimsOf(accessToken) ?? 'opaque: no API was requested; it can be used for userinfo'} />
      <h3>Other values</h3>
      <Json value={{ ...rest, ...(rest.refresh_token !== undefined && { refresh_token: '…' }) }} />
    </section>
  );
}

function Json({ value }: { value: unknown }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
  return <pre tabIndex={0}>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>;
}

const { origin } = location;
/** Whether the origin is in the application's list only for the trial, which another tab, or the page loaded again, may end. */
const addedKey = ({ client_id }: Application) => `gatepost tried ${client_id}`;

const withAnswer = ({ callbacks, web_origins }: Application) => ({
  callbacks: [...callbacks, answerUrl],
  web_origins: [...new Set([...web_origins, origin])],
});

/** Takes the origin back only if it was added for the trial, and nothing else needs it: the console itself is an application, too. */
function withoutAnswer(application: Application) {
  const callbacks = application.callbacks.filter((url) => url !== answerUrl);
  const isAdded = localStorage.getItem(addedKey(application)) === 'true';
  const isNeeded = callbacks.some((url) => originOf(url) === origin);
  const web_origins = application.web_origins.filter((other) => other !== origin);
  return { callbacks, ...(isAdded && !isNeeded && { web_origins }) };
}

async function readAnswer(
  issuer: string,
  application: Application,
  answer: URLSearchParams,
  verifier: string,
  secret: string,
): Promise<Result> {
  const error = answer.get('error');
  if (error !== null) return { kind: 'refused', error, description: answer.get('error_description') ?? '' };
  const isConfidential = application.token_endpoint_auth_method !== 'none';
  if (isConfidential && secret === '')
    return { kind: 'code', why: 'With its secret, the application would now exchange it for tokens.' };
  const basic = application.token_endpoint_auth_method === 'client_secret_basic';
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    headers: basic
      ? { Authorization: `Basic ${btoa(`${encodeURIComponent(application.client_id)}:${encodeURIComponent(secret)}`)}` }
      : {},
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: answerUrl,
      code_verifier: verifier,
      ...(!basic && { client_id: application.client_id }),
      ...(!basic && isConfidential && { client_secret: secret }),
    }),
  }).catch(() => {
    throw new Unreachable('The gate is not responding.');
  });
  const tokens = await response.json();
  return response.ok
    ? { kind: 'tokens', tokens }
    : { kind: 'refused', error: tokens.error, description: tokens.error_description ?? '' };
}

function claimsOf(token: unknown): object | undefined {
  const [, payload] = typeof token === 'string' ? token.split('.') : [];
  if (payload === undefined) return undefined;
  const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (sign) => sign.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

const encoded = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = () => encoded(crypto.getRandomValues(new Uint8Array(32)));
const challengeOf = async (verifier: string) =>
  encoded(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
