/** Forms with a file (`multipart/form-data`, RFC 7578), as `jobs/users-imports` takes them: each part by its name, a file as text. */
import type { BusboyHeaders } from '@fastify/busboy';
import type { RequestHandler } from 'express';
import { badBody, ManagementProblem } from './problem.ts';

/** The largest file, in bytes, as at Auth0. */
const fileMaxBytes = 512_000;
const limits = { fileSize: fileMaxBytes, files: 1, fields: 10, parts: 12, fieldSize: 1_024, headerPairs: 20 };

export const readMultipart: RequestHandler = async (request, _response, next) => {
  if (!request.is('multipart/form-data')) return next(badBody('The body must be multipart/form-data'));
  const { Busboy } = await import('@fastify/busboy');
  let form: InstanceType<typeof Busboy>;
  try {
    form = new Busboy({ headers: request.headers as BusboyHeaders, limits });
  } catch {
    return next(badBody('The form has no boundary'));
  }
  let ended = false;
  const end = (error?: Error) => {
    if (ended) return;
    ended = true;
    request.unpipe(form);
    // Drains the rest unread.
    if (error) request.resume();
    next(error);
  };
  const parts = new Map<string, string>();
  form.on('field', (name, value, _isNameCut, isValueCut) => {
    if (isValueCut) end(badBody(`${name} has more than ${limits.fieldSize} bytes; send a file with its filename`));
    else parts.set(name, value);
  });
  const cutOff = () => end(badBody('The form is not complete'));
  form.on('file', (name, stream) => {
    const chunks: Buffer[] = [];
    // A form that ends in the middle of its file is reported only here.
    stream.on('error', cutOff);
    stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    stream.on('limit', () =>
      end(new ManagementProblem(413, 'payload_too_large', `The file has more than ${fileMaxBytes} bytes`)),
    );
    stream.on('end', () => void parts.set(name, Buffer.concat(chunks).toString('utf8')));
  });
  const tooMany = () => end(badBody('The form has too many parts'));
  form.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany);
  form.on('error', cutOff);
  form.on('finish', () => {
    request.body = Object.fromEntries(parts);
    end();
  });
  request.on('aborted', cutOff);
  request.pipe(form);
};
