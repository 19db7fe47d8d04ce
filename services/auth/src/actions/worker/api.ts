/**
 * `api`, Auth0’s object for each trigger (https://auth0.com/docs/customize/actions/reference). It does nothing by itself: it records what
 * the action asks for, and the gate does it afterwards, as far as it is allowed (../outcome.ts). Methods that Gatepost lacks throw, so that
 * nobody takes them for done.
 */
import { makeCacheApi } from './cache.ts';
import type { Command } from './messages.ts';
import { makeRedirectApi } from './redirect.ts';

type Api = Record<string, unknown>;
type Writes = (name: string) => (...args: unknown[]) => Api;

const commandsMax = 200;
/** More than any method of `api` has; what else it is called with is ignored, as in JavaScript. The gate accepts no more (../report-shape.ts). */
const argsMax = 4;

const cache = makeCacheApi();

/** What a run gets beside its trigger. */
type ApiOptions = { canRedirect: boolean; event: object };

/** @returns the object, and what was requested through it so far */
export function makeApi(trigger: string, given: ApiOptions): { api: Api; commands(): Command[] } {
  const asked: Command[] = [];
  const record: Writes =
    (name) =>
    (...args) => {
      if (asked.length >= commandsMax) throw new Error(`more than ${commandsMax} calls of api`);
      // JSON would make null of an undefined value.
      const given = args.slice(0, Math.min(argsMax, args.findLastIndex((value) => value !== undefined) + 1));
      // A snapshot, unaffected by later changes to the arguments.
      asked.push({ name, args: JSON.parse(JSON.stringify(given)) as unknown[] });
      return api;
    };
  const absent: Writes = (name) => () => {
    throw new Error(`api.${name} is not in Gatepost`);
  };
  const api: Api = { ...partsOf(trigger, given, record, absent), cache };
  return { api, commands: () => asked };
}

function partsOf(trigger: string, given: ApiOptions, record: Writes, absent: Writes): Api {
  const user = {
    setUserMetadata: record('user.setUserMetadata'),
    setAppMetadata: record('user.setAppMetadata'),
  };
  switch (trigger) {
    case 'post-login':
      return { ...postLogin(record, absent), redirect: makeRedirectApi(record, given), user };
    case 'credentials-exchange':
      return {
        access: { deny: record('access.deny') },
        accessToken: { setCustomClaim: record('accessToken.setCustomClaim') },
      };
    case 'pre-user-registration':
      return { access: { deny: record('access.deny') }, user, validation: { error: record('validation.error') } };
    default:
      return {};
  }
}

/** Auth0 has several methods that ask for a second factor. Which factor is used depends on the person's methods and the tenant's factors. */
function postLogin(record: Writes, absent: Writes): Api {
  const secondFactor = record('multifactor.enable');
  const anyFactor = () => secondFactor('any');
  const all = (group: string, names: string[]) =>
    Object.fromEntries(names.map((name) => [name, absent(`${group}.${name}`)]));
  return {
    access: { deny: record('access.deny') },
    accessToken: {
      setCustomClaim: record('accessToken.setCustomClaim'),
      addScope: record('accessToken.addScope'),
      removeScope: record('accessToken.removeScope'),
    },
    idToken: { setCustomClaim: record('idToken.setCustomClaim') },
    multifactor: { enable: secondFactor },
    authentication: {
      challengeWith: anyFactor,
      challengeWithAny: anyFactor,
      enrollWith: anyFactor,
      enrollWithAny: anyFactor,
      ...all('authentication', ['recordMethod', 'setPrimaryUser']),
    },
    transaction: { setMetadata: record('transaction.setMetadata') },
    rules: { wasExecuted: () => false },
    prompt: all('prompt', ['render']),
    session: {
      revoke: record('session.revoke'),
      setExpiresAt: record('session.setExpiresAt'),
      ...all('session', ['setIdleExpiresAt', 'setCookieMode', 'setMetadata', 'deleteMetadata', 'evictMetadata']),
    },
    refreshToken: {
      revoke: record('refreshToken.revoke'),
      ...all('refreshToken', ['setExpiresAt', 'setIdleExpiresAt', 'setMetadata', 'deleteMetadata', 'evictMetadata']),
    },
    samlResponse: all('samlResponse', ['setAttribute', 'setAudience', 'setRecipient', 'setDestination', 'setIssuer']),
  };
}
