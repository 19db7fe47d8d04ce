import { errors } from 'oidc-provider';

/** Another request was faster with something that may be used only once. */
export class AlreadyConsumed extends errors.InvalidGrant {
  constructor(model: string) {
    super(`${model} already consumed`);
  }
}
