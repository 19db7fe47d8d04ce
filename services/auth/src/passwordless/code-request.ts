/** The request for a code that an application made through Auth0’s API: the code works for that application, from the same network. */
import type { CodeRequest } from '../accounts/one-time-code.ts';
import { networkOf } from '../http/network.ts';

export function apiCodeRequest(asked: {
  connection: string;
  recipient: string;
  clientId: string;
  ip: string;
}): CodeRequest {
  const { connection, recipient, clientId, ip } = asked;
  return { connection, recipient, binding: JSON.stringify([clientId, networkOf(ip)]) };
}
