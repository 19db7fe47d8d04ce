/** What an application is told when actions refused a request, or failed to decide. */
import { errors } from 'oidc-provider';
import type { Outcome } from './outcome.ts';
import { ActionFailed, RedirectImpossible } from './runner.ts';

/** `api.access.deny`; already logged. Auth0 answers token requests with 403. */
export class DeniedByAction extends errors.AccessDenied {
  constructor(reason: string) {
    super(reason || 'Access denied.');
    this.error_description = reason || 'Access denied.';
    this.statusCode = this.status = 403;
  }
}

/** For machines an action chooses the error, as far as Auth0 allows. */
class RefusedByAction extends errors.CustomOIDCProviderError {
  constructor(code: string, reason: string) {
    super(code, reason);
    this.statusCode = this.status = code === 'server_error' ? 500 : 400;
  }
}
const codes = ['invalid_request', 'invalid_scope', 'server_error'];

/** An action is broken; the details are only in the log. */
class BrokenAction extends errors.AccessDenied {
  constructor() {
    super('An action of this tenant failed.');
    this.error_description = 'An action of this tenant failed.';
    this.statusCode = this.status = 403;
  }
}

/** An action wants to send somebody elsewhere, but there is no browser: answered like a silent request. */
class RedirectRequired extends errors.CustomOIDCProviderError {
  constructor() {
    super('interaction_required', redirectRequired);
    this.statusCode = this.status = 403;
  }
}
export const redirectRequired = 'An action of this tenant needs the person in a browser.';

/** Whether it is already in the log, written where the actions ran. */
export const isReported = (error: unknown): boolean =>
  error instanceof DeniedByAction || error instanceof RefusedByAction || error instanceof BrokenAction;

/** @throws DeniedByAction */
export function checkAllowed(outcome: Outcome | undefined): void {
  if (outcome?.denied) throw new DeniedByAction(outcome.denied.reason);
}

/** The same for machines: `api.access.deny(code, reason)`. */
export function checkMachineAllowed(outcome: Outcome | undefined): void {
  if (!outcome?.denied) return;
  const { reason: code, userMessage: reason } = outcome.denied;
  throw codes.includes(code) ? new RefusedByAction(code, reason ?? code) : new DeniedByAction(reason ?? code);
}

/** @throws the error for the application, instead of ActionFailed */
export async function withPublicErrors<T>(running: Promise<T>): Promise<T> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof RedirectImpossible) throw new RedirectRequired();
    throw error instanceof ActionFailed ? new BrokenAction() : error;
  }
}
