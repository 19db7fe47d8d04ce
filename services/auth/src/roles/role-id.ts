import { randomBytes } from 'node:crypto';

/** Like Auth0's: `rol_` and sixteen letters and digits. */
export function newRoleId(): string {
  return `rol_${randomBytes(8).toString('hex')}`;
}
