/** A PKCE pair (RFC 7636), method S256. */
import { createHash, randomBytes } from 'node:crypto';

export function pkce(): { code_verifier: string; code_challenge: string; code_challenge_method: string } {
  const code_verifier = randomBytes(32).toString('base64url');
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
  return { code_verifier, code_challenge, code_challenge_method: 'S256' };
}
