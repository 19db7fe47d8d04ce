/**
 * Requests without a User-Agent are refused in GitHub’s words
 * (https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent).
 */
import type { RequestHandler } from 'express';
import { upgradeOf } from './upgrade.ts';

const refusal = `
Request forbidden by administrative rules. Please make sure your request has a User-Agent header (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check https://developer.github.com for other possible causes.
`.replaceAll('\n', '\r\n');

export const demandUserAgent: RequestHandler = (request, response, next) => {
  // WebSocket libraries send none.
  if (request.headers['user-agent']?.trim() || upgradeOf(request)) return next();
  response.status(403).type('text/html; charset=utf-8').end(refusal);
};
