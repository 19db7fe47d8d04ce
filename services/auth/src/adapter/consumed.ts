import { errors } from 'oidc-provider';

/** Somebody else was faster with what may be used once. */
export class AlreadyConsumed extends errors.InvalidGrant {
  constructor(model: string) {
    super(`${model} already consumed`);
  }
}
