/** `jobs`: work that continues after the answer. Here that is a verification mail; imports have their own file. */
import { z } from 'zod';
import { created, ok, operation } from './operation.ts';
import { ManagementProblem, missing, tryAgain } from './problem.ts';
import { checkClient, identityBody, namedAccount } from './tickets.ts';
import { presentExport } from './users-exports.ts';
import { presentedImport } from './users-imports.ts';

export const createVerificationEmail = operation({
  body: z.strictObject({
    user_id: z.string().max(300),
    client_id: z.string().max(256).optional(),
    identity: identityBody.optional(),
  }),
  async run({ parts, body }) {
    const { user_id, client_id: clientId, identity } = body;
    await checkClient(parts, clientId);
    const account = await namedAccount(parts, { user_id, identity });
    if (!account.email) throw new ManagementProblem(400, 'operation_not_supported', 'The user has no email address.');
    const job = await parts.jobs.create('verification_email');
    const done = (outcome: 'completed' | 'failed') => parts.jobs.end(job, outcome);
    const sent = await parts.verificationMails.send({ account, clientId, languages: {}, done });
    if (sent === 'too_many') {
      await done('failed');
      throw new ManagementProblem(429, 'too_many_requests', 'Too many mails to this address: try again later');
    }
    if (sent === 'busy') {
      await done('failed');
      throw tryAgain();
    }
    if (sent === 'disabled') {
      await done('failed');
      throw new ManagementProblem(400, 'template_disabled', 'The email template verify_email is disabled.');
    }
    return created(job);
  },
});

export const getJob = operation({
  async run({ parts, params, scopes }) {
    const { id = '' } = params;
    const imported = await presentedImport(parts, id);
    if (imported) return ok(imported);
    const job = await parts.jobs.find(id);
    if (!job) throw missing('job', 'The job does not exist.');
    return ok(job.export ? presentExport(parts, job, { isReadable: scopes.has('read:users') }) : job);
  },
});
