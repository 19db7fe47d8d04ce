/** What to do about a failed attempt. Pure. */
import { deliveryStatus } from '@gatepost/contracts/delivery';
import { ownSource } from '@gatepost/webhook-db/requested';
import type { Known } from './known.ts';
import type { AttemptRow } from './rows.ts';

/** How to have the receiver accept it. */
export function adviceOn({ account, deliveryTimeoutMs }: Known, { status, status_code, error }: AttemptRow): string {
  switch (status) {
    case deliveryStatus.host:
      return error === 'EBLOCKED'
        ? 'That address is forbidden here: use a public one, or let the operator allow it (DELIVERY_ALLOWED_NETWORKS).'
        : "Check that the name in the hook's URL resolves to an address that can be reached.";
    case deliveryStatus.network:
      return adviceOnConnection(error);
    case deliveryStatus.timeout:
      if (error?.endsWith('while looking up the name'))
        return "Check that the name servers of the host in the hook's URL answer, and soon.";
      return error === 'ETIMEDOUT' || error?.endsWith('while connecting')
        ? adviceOnConnection(error)
        : `Let the receiver answer 2xx within ${deliveryTimeoutMs / 1000} s, and do its work afterwards.`;
    case deliveryStatus.certificate:
      return 'Let the receiver send its whole certificate chain, for a certificate that a public authority signed for that name.';
    default:
      return error === null || error.startsWith('HTTP ')
        ? adviceOnAnswer(status_code, account.login)
        : 'Let the receiver answer in valid HTTP, and finish its answer.';
  }
}

function adviceOnConnection(error: string | null): string {
  if (error === 'EPROTO' || error?.startsWith('ERR_SSL_'))
    return "The receiver speaks no TLS there, or none of our versions: check the port, and https in the hook's URL.";
  if (error === 'ECONNRESET' || error === 'EPIPE')
    return "The receiver, or something before it, cut the connection before it answered: look into the receiver's log.";
  return 'Check that the receiver listens at that address and port, and accepts connections from outside.';
}

function adviceOnAnswer(statusCode: number, login: string): string {
  switch (statusCode) {
    case 401:
    case 403:
      return "Check that the receiver has the hook's secret and computes the signature over the body as received, and that it wants no other credentials: 401 and 403 usually mean one of these.";
    case 404:
    case 410:
      return "Check the path of the hook's URL: the receiver says that nothing is there.";
    case 405:
      return "Let the receiver accept POST at the path of the hook's URL.";
    case 413:
      return 'The payload is larger than the receiver accepts: let it accept up to 25 MB.';
    case 429:
      return `The receiver gets more than it allows: let it allow more, or lower the limit of ${login} (PUT /accounts/${login}/throttle, by an administrator of the installation).`;
    default:
      if (statusCode >= 300 && statusCode < 400)
        return 'Redirects are not followed: change the URL of the hook to the one that the receiver redirects to.';
      return statusCode >= 500
        ? 'The receiver failed: look into its log, and that of any proxy before it.'
        : 'Find out why the receiver does not answer 2xx.';
  }
}

/** A made-up event is signed only for those who must know the secret (docs/decisions/0313-secrets-of-a-hook.md). */
export const isKeptBack = ({ hook, event }: Known): boolean =>
  !hook.isGone && (hook.hasSecret || hook.hasSenderProof) && event?.source === ownSource && event.type !== 'ping';

/** How to have it sent once more. */
export function again(known: Known, { id }: AttemptRow): string {
  const { hook } = known;
  if (hook.isGone || !isKeptBack(known)) return `deliver it again: POST ${pathOf(known, id)}/attempts`;
  if (hook.hasSenderProof)
    return 'make the event up for a hook that has neither request headers nor a user name in its URL';
  return `whoever knows the secret of the hook triggers it anew: POST ${hook.path}/triggers`;
}

export function pathOf({ hook }: Known, delivery: string | number): string {
  return `${hook.isGone ? `…/hooks/${hook.id}` : hook.path}/deliveries/${delivery}`;
}
