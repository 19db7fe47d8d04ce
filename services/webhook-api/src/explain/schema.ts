/** Explanations as clients see them. */
import { deadReasons } from '@gatepost/contracts/dead-reason';
import { z } from 'zod';
import { deadLetterSchema } from '../dead-letters/letter.ts';
import { type CauseName, causes, listed, type State, type Step, states, steps } from './words.ts';

const time = z.iso.datetime();
const wordsOf = <W extends string>(words: Record<W, string>) =>
  z.enum(Object.keys(words) as [W, ...W[]]).meta({ description: listed(words) });

const causeSchema = z.object({
  cause: wordsOf<CauseName>(causes),
  certain: z.boolean().meta({
    description:
      "`false`: it is derived from today's settings, or is one of several possibilities; nothing more exact is kept",
  }),
  sentence: z.string(),
  next: z.string().nullable().meta({ description: 'What to do next' }),
  reason: z.enum(deadReasons).nullable().meta({ description: 'Why it is a dead letter' }),
});

const stepSchema = z.object({
  step: wordsOf<Step>(steps),
  at: time,
  exact: z.boolean().meta({ description: '`false`: derived from other times; its own is not kept' }),
  delivery_id: z.int().nullable(),
  attempt: z.int().nullable(),
  redelivery: z
    .boolean()
    .nullable()
    .meta({ description: "As in the log: somebody asked for that delivery; null: it is a step of the event's own" }),
  sentence: z.string(),
});

const summaryFields = {
  state: wordsOf<State>(states),
  sentence: z.string().meta({ description: 'The same in plain words' }),
  next: z.string().nullable().meta({ description: 'What to do next; null: nothing' }),
  causes: z.array(causeSchema).meta({ description: 'Why no delivery was made, the most likely cause first' }),
};

const event = z.string().nullable().meta({ description: 'Its type; null: nothing is stored about it' });
const place = z.string().nullable().meta({ description: 'Where it occurred: `owner/repo`, or `owner`; null: unknown' });

export const explanationSchema = z
  .object({
    guid: z.string(),
    event,
    action: z.string().nullable(),
    place,
    hook_id: z.int(),
    delivery_id: z.int().nullable().meta({ description: 'The delivery that the state is about' }),
    ...summaryFields,
    since: time.nullable().meta({ description: 'Since when it has been in that state; null: unknown' }),
    until: z
      .object({
        at: time.nullable().meta({ description: 'An estimate; null: it cannot be estimated' }),
        reason: z.string().meta({ description: 'Where the estimate comes from' }),
        place: z
          .int()
          .nullable()
          .meta({ description: "Its place among those that wait for the account's limit, from 1" }),
        rate: z.number().nullable().meta({ description: 'How many of those go out per second' }),
      })
      .nullable()
      .meta({ description: 'When that state ends; null: nothing more is pending' }),
    duplicates_until: time.nullable().meta({
      description:
        'Until then a message with the same source, id and subject is a duplicate and makes no delivery; duplicates are not stored',
    }),
    redeliverable: z.boolean().meta({
      description: '`false`: it was made up with `…/triggers`, and the hook has something that proves who sends',
    }),
    steps: z.array(stepSchema).meta({ description: 'What happened to it, in order' }),
  })
  .meta({ id: 'Explanation' });

export const eventExplanationSchema = z
  .object({
    guid: z.string(),
    ...summaryFields,
    events: z.array(
      z.object({
        source: z.string(),
        id: z.string(),
        event: z.string(),
        action: z.string().nullable(),
        place,
        occurred_at: time,
        received_at: time,
        ...summaryFields,
        steps: z.array(stepSchema),
        deliveries: z.array(explanationSchema).meta({
          description: 'For up to 100 hooks of its place: first those that it went to, then the others',
        }),
      }),
    ),
    dead_letters: z.array(deadLetterSchema).meta({ description: 'If the event is not stored: its dead letters' }),
  })
  .meta({ id: 'EventExplanation' });

export type Explanation = z.infer<typeof explanationSchema>;
export type EventExplanation = z.infer<typeof eventExplanationSchema>;
export type Cause = z.infer<typeof causeSchema>;
export type ExplainedStep = z.infer<typeof stepSchema>;
