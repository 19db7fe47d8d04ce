/**
 * Exports of users: the job says what is wanted and has the file's address, a link valid for an hour that needs no token, as at Auth0. The file
 * is made when it is fetched, from the data stored at that time.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { Router } from 'express';
import { presentUsers } from '../accounts/present-user.ts';
import type { Audit } from '../audit.ts';
import type { Database } from '../database.ts';
import { ApiError } from '../http/api-error.ts';
import { setRoute } from '../http/route.ts';
import type { Mac } from '../keys/mac.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { csvLine, type ExportRequest, jsonLine } from './lines.ts';

/** Rows per query. */
const pageMax = 500;

type ExportParts = {
  issuer: string;
  exportLinks: Mac;
  db: Database;
  connections: ConnectionStore;
  jobs: { find(id: string): Promise<{ export?: ExportRequest } | undefined> };
  audit: Pick<Audit, 'add'>;
};

/** The address of a job's file. */
export const locationOf = (
  { issuer, exportLinks }: Pick<ExportParts, 'issuer' | 'exportLinks'>,
  id: string,
  format: string,
) => `${baseUrlOf(issuer)}exports/${id}.${format}.gz?signature=${exportLinks.tokenFor(id)}`;

/** `GET /exports/{job}.{json|csv}.gz` */
export function makeExportRoute(parts: ExportParts): Router {
  const router = Router();
  router.get('/exports/:file', async (request, response) => {
    setRoute(response, 'exports');
    const [id = ''] = request.params.file.split('.');
    // Checked before the store is asked, so that nobody finds out which jobs exist.
    const wanted = parts.exportLinks.matches(id, request.query.signature)
      ? (await parts.jobs.find(id))?.export
      : undefined;
    if (!wanted)
      throw new ApiError(404, 'not_found', 'This export does not exist, or no longer exists: ask for another.');
    parts.audit.add({ type: 'sapi', ip: request.ip, details: { operation: 'GET exports', target: id } });
    response.set({ 'content-type': 'application/gzip', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    try {
      // On failure the connection breaks, so that an incomplete file cannot be mistaken for a whole one.
      await pipeline(Readable.from(linesOf(parts, wanted)), createGzip(), response);
    } catch (error) {
      // The client hung up.
      if ((error as { code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
  });
  return router;
}

async function* linesOf(parts: ExportParts, wanted: ExportRequest): AsyncGenerator<string> {
  const line = wanted.format === 'csv' ? csvLine : jsonLine;
  if (wanted.format === 'csv') yield csvLine(undefined, wanted.fields);
  let left = wanted.limit ?? Number.POSITIVE_INFINITY;
  for (let after = ''; left > 0; ) {
    const accounts = await parts.db.account.findMany({
      where: {
        userId: { gt: after },
        linkedTo: null,
        ...(wanted.connection !== null && { connection: wanted.connection }),
      },
      orderBy: { userId: 'asc' },
      take: Math.min(pageMax, left),
    });
    if (accounts.length === 0) return;
    for (const user of await presentUsers(parts, accounts)) yield line(user, wanted.fields);
    after = accounts.at(-1)!.userId;
    left -= accounts.length;
  }
}
