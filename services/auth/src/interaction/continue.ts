/**
 * A sign-in that an action has sent elsewhere (actions/pauses.ts): its page leads there, `/continue` leads back to it, Auth0's address, and
 * from it the authorization request goes on with what the browser has brought.
 *
 *   /interaction/{uid} ──► elsewhere ──► /continue?state= ──► /interaction/{uid}/continue/{answer} ──► the actions that follow
 */
import express, { type Request, type Response, type Router } from 'express';
import { errors } from 'oidc-provider';
import type { KeptPause } from '../actions/outcomes.ts';
import type { Answer, Pauses } from '../actions/pauses.ts';
import type { Continued } from '../actions/post-login.ts';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { seeOther } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { Interaction } from './interaction.ts';

/** The page of such an interaction: it shows nothing. */
export async function leaveForAction({ parts, details, uid, leave }: Interaction): Promise<void> {
  const { actionPause } = details as KeptPause;
  const address = actionPause && (await parts.pauses.addressOf(actionPause, uid));
  if (!address) throw over();
  leave(address);
}

/** The browser that left is back. */
export async function comeBackToAction({ parts, uid, finish }: Interaction, request: Request): Promise<void> {
  const continued = await parts.pauses.acceptAnswer(String(request.params.answer), uid);
  if (continued === undefined) throw over();
  // The library hands on what it does not know.
  await finish({ continued } satisfies Continued as never);
}

const over = () => new errors.SessionNotFound('no sign-in waits for this answer');

/** No interaction's own address: whoever sends people back knows only this one. It is asked by GET, or by the form of another site. */
export function makeContinueRoutes({ pauses }: { pauses: Pauses }): Router {
  const router = express.Router();
  const take = async (request: Request, response: Response): Promise<void> => {
    setRoute(response, '/continue');
    const query = definedOf(queryOf(request));
    const body = request.method === 'POST' ? definedOf(fieldsOf(request)) : {};
    const state = query.state ?? body.state ?? '';
    const uid = await pauses.interactionOf(state);
    if (uid === undefined) throw over();
    // A form of another site comes without our cookies; the GET that follows has them. What was sent appears in no address of ours.
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
