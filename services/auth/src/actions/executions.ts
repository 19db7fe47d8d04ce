/** Records runs that failed or refused somebody (`GET api/v2/actions/executions/{id}`), for a day. */
import type { Redis } from 'ioredis';

export type Execution = {
  id: string;
  trigger_id: string;
  status: 'final';
  results: { action_name: string; error: { msg: string } | null; started_at: string; ended_at: string }[];
  created_at: string;
  updated_at: string;
};

export type ExecutionStore = {
  save(execution: Execution): Promise<void>;
  find(id: string): Promise<Execution | undefined>;
};

const seconds = 86_400;

export function makeExecutionStore(redis: Redis, prefix: string): ExecutionStore {
  const keyOf = (id: string) => `${prefix}action-execution:${id}`;
  return {
    async save(execution) {
      await redis.set(keyOf(execution.id), JSON.stringify(execution), 'EX', seconds);
    },
    async find(id) {
      const text = await redis.get(keyOf(id));
      return text === null ? undefined : (JSON.parse(text) as Execution);
    },
  };
}
