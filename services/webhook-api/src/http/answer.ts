/**
 * Writes an answer: JSON with an ETag, or 304 if the client already has it. No `Last-Modified`: a hook’s JSON changes with its last response
 * although the hook has not been modified.
 */
import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Answer } from './operation.ts';

/** Writes `answer`; `beforeHead` gets the final status and the size of what follows the head, and may set headers that depend on it, or throw. */
export function writeAnswer(
  request: Request,
  response: Response,
  answer: Answer,
  beforeHead: (status: number, bytes: number) => void,
): void {
  response.status(answer.status).set(answer.headers ?? {});
  const json = answer.json ?? (answer.body === undefined ? undefined : JSON.stringify(answer.body));
  if (answer.stream) {
    beforeHead(answer.status, 0);
    response.flushHeaders();
    response.emit('streaming');
    return void answer.stream(response);
  }
  if (json === undefined) {
    beforeHead(answer.status, 0);
    return void response.end();
  }
  if (!response.hasHeader('Content-Type')) response.setHeader('Content-Type', 'application/json; charset=utf-8');
  const etag = `"${hash('sha1', json)}"`;
  response.setHeader('ETag', `W/${etag}`);
  if (isKnown(request, answer.status, etag)) {
    response.status(304);
    response.removeHeader('Content-Type');
    beforeHead(304, 0);
    return void response.end();
  }
  const length = Buffer.byteLength(json);
  const isHead = request.method === 'HEAD';
  beforeHead(answer.status, isHead ? 0 : length);
  response.setHeader('Content-Length', length);
  if (isHead) response.end();
  // Node writes head and text at once in either encoding; where each character is one byte, latin1 is copied instead of encoded.
  else response.end(json, length === json.length ? 'latin1' : 'utf8');
}

/**
 * RFC 9110 section 13.1.2, by weak comparison. Not Express’s `request.fresh`, which obeys the `Cache-Control: no-cache` that every `fetch`
 * adds to a conditional request, so that such clients would never see a 304.
 */
function isKnown(request: Request, status: number, etag: string): boolean {
  const condition = request.headers['if-none-match'];
  if (condition === undefined || status !== 200 || !['GET', 'HEAD'].includes(request.method)) return false;
  return condition.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
