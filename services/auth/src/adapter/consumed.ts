import { errors } from 'oidc-provider';

/** Another request was faster with something that may be used only once. */
export class AlreadyConsumed extends errors.InvalidGrant {
  constructor(model: string) {
    super(`${model} already consumed`);
  }
}

/** The refusal of what was consumed before; a pushed authorization request is not refused as a grant. */
export const alreadyConsumed = (model: string) =>
  model === 'PushedAuthorizationRequest'
    ? new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used')
    : new AlreadyConsumed(model);
