/**
 * Reads a request’s body: JSON whatever its content type, as GitHub does, of at most 1 MB, 64 levels and whole characters (RFC 7493 sections
 * 2.1 and 2.3). Later steps may then walk it recursively and pass its text to PostgreSQL.
 */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { ApiError } from './errors.ts';

const maxBytes = 1024 * 1024;
const maxDepth = 64;
const raw = express.raw({ type: () => true, limit: maxBytes });

/** The JSON object sent; an empty body is an empty object. @throws ApiError 400, 413 or 415. */
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
  if (!isUtf8(bytes)) throw unparsable();
  const text = bytes.toString('utf8');
  if (isDeeperThan(maxDepth, text))
    throw new ApiError(400, `Problems parsing JSON: it is nested too deeply (maximum is ${maxDepth} levels)`);
  const value = parse(text);
  // In valid UTF-8, half a character can only come from an escape.
  if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value))
    throw new ApiError(400, 'Problems parsing JSON: it contains half a character (a lone surrogate)');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unparsable(); // the parser's own message would tell a client no more
  }
}

const unparsable = () => new ApiError(400, 'Problems parsing JSON');

/** Whether brackets outside strings nest deeper; meaningless for invalid JSON. */
function isDeeperThan(levels: number, text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > levels) return true;
    } else if (character === '}' || character === ']') depth -= 1;
  }
  return false;
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function readError(error: unknown): Error {
  const { type } = error as { type?: unknown };
  if (type === 'entity.too.large') return new ApiError(413, 'Payload too large', { cause: error });
  if (type === 'encoding.unsupported') return new ApiError(415, 'Unsupported content encoding', { cause: error });
  return new ApiError(400, 'Problems reading the request body', { cause: error });
}
