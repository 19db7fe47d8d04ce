/**
 * A sign-in that an action has sent elsewhere (actions/pauses.ts). Its page leads there, and `/continue` (Auth0's address) leads back;
 * the authorization request then goes on with what the browser brought.
 *
 *   /interaction/{uid} ──► elsewhere ──► /continue?state= ──► /interaction/{uid}/continue/{answer} ──► the actions that follow
 */
import express, { type Request, type Response, type Router } from 'express';
import { errors } from 'oidc-provider';
import type { StoredPause } from '../actions/outcomes.ts';
import type { Answer, Pauses } from '../actions/pauses.ts';
import type { ContinuedResult } from '../actions/post-login.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { seeOther } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { Interaction } from './interaction.ts';

/** The page of such an interaction, which only redirects. */
export async function redirectForAction({ parts, details, uid, leave }: Interaction): Promise<void> {
  const { actionPause } = details as StoredPause;
  const address = actionPause && (await parts.pauses.addressOf(actionPause, uid));
  if (!address) throw over();
  leave(address);
}

/** The browser that left has come back. */
export async function resumeAction({ parts, uid, finish }: Interaction, request: Request): Promise<void> {
  const continued = await parts.pauses.acceptAnswer(String(request.params.answer), uid);
  if (continued === undefined) throw over();
  // The library passes on properties that it does not know.
  await finish({ continued } satisfies ContinuedResult as never);
}

const over = () => new errors.SessionNotFound('no sign-in waits for this answer');

/** Not below an interaction's own address: the other site knows only this one. Requested by GET, or by a form on another site. */
export function makeContinueRoutes({ pauses }: { pauses: Pauses }): Router {
  const router = express.Router();
  const take = async (request: Request, response: Response): Promise<void> => {
    setRoute(response, '/continue');
    const query = definedOf(queryOf(request));
    const body = request.method === 'POST' ? definedOf(fieldsOf(request)) : {};
    const state = query.state ?? body.state ?? '';
    const uid = await pauses.interactionOf(state);
    if (uid === undefined) throw over();
    // A form on another site comes without our cookies; the GET that follows has them. The answer itself appears in none of our addresses.
    const answer: Answer = { state, method: request.method, query, body };
    const name = await pauses.keepAnswer(answer);
    if (name === undefined) throw over();
    seeOther(response, `/interaction/${uid}/continue/${name}`);
  };
  router.get('/continue', take);
  router.post('/continue', take);
  return router;
}

const definedOf = (fields: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined));
