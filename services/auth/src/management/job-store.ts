/** Jobs given to the management API, kept for a day (as at Auth0). */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ExportRequest } from '../exports/lines.ts';

export type Job = {
  id: string;
  type: string;
  status: 'pending' | 'completed' | 'failed';
  created_at: string;
  /** For an export. */
  export?: ExportRequest;
};

export type JobStore = {
  /** An export's link is valid for an hour. */
  create(type: string, wanted?: ExportRequest): Promise<Job>;
  end(job: Job, status: 'completed' | 'failed'): Promise<void>;
  find(id: string): Promise<Job | undefined>;
};

const ttlSeconds = 86_400;
const exportTtlSeconds = 3_600;

export function makeJobStore(redis: Redis, prefix: string): JobStore {
  const keyOf = (id: string) => `${prefix}job:${id}`;
  const save = async (job: Job) => {
    await redis.set(keyOf(job.id), JSON.stringify(job), 'EX', job.export ? exportTtlSeconds : ttlSeconds);
    return job;
  };
  return {
    create: (type, wanted) =>
      save({
        status: 'pending',
        type,
        created_at: new Date().toISOString(),
        id: `job_${randomBytes(12).toString('base64url')}`,
        ...(wanted && { export: wanted }),
      }),
    end: async (job, status) => void (await save({ ...job, status })),
    async find(id) {
      const stored = await redis.get(keyOf(id));
      return stored === null ? undefined : (JSON.parse(stored) as Job);
    },
  };
}
