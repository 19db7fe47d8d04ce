/**
 * A sign-in at another provider, from the page that leads there to the one that continues. The browser leaves with a `state` of this
 * interaction, returns to the address that every provider knows (routes.ts), and goes on to the interaction itself, whose cookie proves
 * that it is the browser that left: an answer obtained by somebody else signs nobody in (login CSRF, RFC 9700 4.7).
 */
import type { Request } from 'express';
import { errors } from 'oidc-provider';
import { finishLogin } from '../factors/second-factor.ts';
import type { ConnectionModel } from '../generated/models.ts';
import type { Interaction } from '../interaction/interaction.ts';
import { attemptSeconds } from './attempts.ts';
import { authorizationUrl } from './authorization-url.ts';
import { exchange } from './exchange.ts';
import { descriptionOf, failureOf, UpstreamFailure } from './failure.ts';
import { labelOf } from './offered.ts';
import { rememberUpstream } from './session.ts';
import { isUpstream, strategies } from './strategies.ts';

/** Reasons that a session at the provider does not satisfy: a factor is to be set up (factors/prompt.ts, factors/navigation.ts). */
const needsLoginAnew = new Set(['enrolment', 'second_factor']);

/** Sends the browser to the provider, or back to the application with the error. */
export async function redirectToProvider(
  interaction: Interaction,
  connection: ConnectionModel,
  hint?: string,
): Promise<void> {
  const { upstream } = interaction.parts;
  const { params, details, prompt } = interaction;
  const { reasons } = details.prompt;
  const isAnother = reasons.includes('another_account');
  const hinted = typeof params.login_hint === 'string' && !isAnother ? params.login_hint : undefined;
  // A provider that accepts `max_age` decides itself whether it has passed.
  const isToldAge = isUpstream(connection.strategy) && 'maxAge' in strategies[connection.strategy];
  // `prompt=login` may come after `select_account`, whose login satisfies both.
  const isLoginAsked = typeof params.prompt === 'string' && params.prompt.split(' ').includes('login');
  const reauthenticate =
    isLoginAsked || reasons.some((reason) => needsLoginAnew.has(reason) || (reason === 'max_age' && !isToldAge));
  const selectAccount = isAnother || prompt === 'select_account';
  try {
    const address = await authorizationUrl(
      upstream,
      connection,
      { kind: 'login', uid: interaction.uid },
      { params, hint: hint ?? hinted, reauthenticate, selectAccount, maxAge: maxAgeOf(params) },
    );
    await interaction.keepFor(attemptSeconds);
    interaction.leave(address.href);
  } catch (error) {
    await refuse(interaction, connection, error);
  }
}

function maxAgeOf({ max_age: given }: Record<string, unknown>): number | undefined {
  return given === undefined ? undefined : Number(given);
}

/** Takes the connection's name from the interaction's path. */
export async function redirectToNamedProvider(interaction: Interaction, request: Request): Promise<void> {
  const { connections } = interaction.parts;
  const connection = await connections.find(String(request.params.connection), interaction.client.clientId);
  if (!connection || !isUpstream(connection.strategy)) return interaction.turnTo('identifier');
  const { identifier } = await interaction.recall('');
  return redirectToProvider(interaction, connection, identifier?.includes('@') ? identifier : undefined);
}

/** Handles the provider's answer, in the browser that left for it. */
export async function handleCallback(interaction: Interaction, request: Request): Promise<void> {
  const { parts, uid, client } = interaction;
  const answer = callbackParams(request);
  const attempt = await parts.upstream.attempts.redeem(answer.get('state') ?? '');
  if (attempt?.for.kind !== 'login' || attempt.for.uid !== uid)
    throw new errors.SessionNotFound('the answer of a provider was used before, or is of another sign-in');
  const connection = await parts.connections.find(attempt.connection, client.clientId);
  if (!connection) return refuse(interaction, attempt.connection, new UpstreamFailure('not_enabled'));
  try {
    const remote = await parts.upstream.remotes.open(connection);
    const answered = await exchange(remote, attempt, answer);
    const { account, isNew } = await parts.upstream.openAccount(remote, answered);
    const owner = await parts.accounts.ownerOf(account);
    if (!owner || owner.blocked) throw new UpstreamFailure('blocked');
    if (isNew) parts.report.signedUp(account, client.clientId, interaction.address);
    await interaction.keep();
    await rememberUpstream(interaction, {
      accountId: owner.userId,
      connection: connection.name,
      idToken: answered.tokens.id_token,
    });
    return await finishLogin(interaction, owner, { amr: ['fed'], connection: connection.name });
  } catch (error) {
    return refuse(interaction, connection, error);
  }
}

/** The parameters that a provider may answer with. */
export const callbackFields = ['code', 'state', 'iss', 'error', 'error_description', 'user'];

export function callbackParams(request: Request): URLSearchParams {
  const { search } = new URL(request.originalUrl, 'http://gate');
  const given = new URLSearchParams(search);
  return new URLSearchParams([...given].filter(([name]) => callbackFields.includes(name)));
}

/** The application gets an OAuth error; the log says what to do. @throws errors that are not the provider's */
async function refuse(interaction: Interaction, connection: ConnectionModel | string, error: unknown): Promise<void> {
  const failure = failureOf(error);
  if (!(failure instanceof UpstreamFailure)) throw failure;
  const isKnown = typeof connection !== 'string';
  const name = isKnown ? connection.name : connection;
  interaction.parts.report.upstreamFailed(interaction, {
    connection: name,
    strategy: isKnown ? connection.strategy : '',
    failure,
  });
  const error_description = descriptionOf(failure, isKnown ? labelOf(connection) : name);
  await interaction.finish({ error: failure.code, error_description }, false);
}
