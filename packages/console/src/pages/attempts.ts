/** The attempts that an explanation tells of, each with a name of its own. */
import type { Step } from '../api/types.ts';

/** `text`: what is known of it last. */
export type Attempt = { id: number; name: string; text: string };

export function attemptsOf(steps: readonly Step[]): Attempt[] {
  const texts = new Map<number, string>();
  const names = new Map<number, string>();
  const counts = new Map<string, number>();
  for (const { delivery_id: id, sentence, step, ...of } of steps) {
    if (id === null || step === 'handed_over') continue;
    if (!texts.has(id)) {
      const plain = plainName(id, of);
      const count = (counts.get(plain) ?? 0) + 1;
      counts.set(plain, count);
      // Whoever asks for a delivery twice gets two first attempts.
      names.set(id, count === 1 ? plain : `${plain}, no. ${count}`);
    }
    texts.set(id, sentence);
  }
  return [...texts].map(([id, text]) => ({ id, name: names.get(id)!, text }));
}

function plainName(id: number, { attempt, redelivery }: Pick<Step, 'attempt' | 'redelivery'>): string {
  if (attempt === null) return `Delivery ${id}`;
  return redelivery ? `Redelivery, attempt ${attempt}` : `Attempt ${attempt}`;
}
