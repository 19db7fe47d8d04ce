/** Reading a request's body: JSON whatever its content type says, as GitHub does, at most 1 MB. */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { ApiError } from './errors.ts';

const maxBytes = 1024 * 1024;
const raw = express.raw({ type: () => true, limit: maxBytes });

/** The JSON object that was sent; an empty body is an empty object. @throws ApiError 400, 413 or 415. */
export async function readBody(request: Request, response: Response): Promise<Record<string, unknown>> {
  await new Promise<void>((resolve, reject) =>
    raw(request, response, (error?: unknown) => (error ? reject(readError(error)) : resolve())),
  );
  const bytes: unknown = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return {};
  const value = parseJson(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError(400, 'Body should be a JSON object');
  return value as Record<string, unknown>;
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError(400, 'Problems parsing JSON');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ApiError(400, 'Problems parsing JSON'); // the parser's own words would say no more to a client
  }
}

function readError(error: unknown): Error {
  const { type } = error as { type?: unknown };
  if (type === 'entity.too.large') return new ApiError(413, 'Payload too large', { cause: error });
  if (type === 'encoding.unsupported') return new ApiError(415, 'Unsupported content encoding', { cause: error });
  return new ApiError(400, 'Problems reading the request body', { cause: error });
}
