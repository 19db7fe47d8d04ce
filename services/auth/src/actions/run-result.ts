/** How a run of an action ended. */
import type { Command } from './worker/messages.ts';

// biome-ignore format: a list
export type FaultReason =
  | 'threw' | 'timeout' | 'absent' | 'broken' | 'crashed' | 'memory' | 'busy' | 'too_large' | 'paused';

export type RunResult =
  | { kind: 'done'; commands: Command[]; output: string[] }
  | { kind: 'failed'; reason: FaultReason; message: string; output: string[] };

export const failed = (reason: FaultReason, message: string, output: string[] = []): RunResult => ({
  kind: 'failed',
  reason,
  message,
  output,
});
