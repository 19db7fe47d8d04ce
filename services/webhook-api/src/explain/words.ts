/** The vocabulary of explanations, with meanings: for the API description, and docs/reference/explain.md. */

export const states = {
  queued: 'its event waits in RabbitMQ to be taken',
  throttled: "waits for its turn within its account's limit",
  retry: 'waits for the time of its next attempt',
  receiver_busy: 'waits since its receiver has enough attempts in flight',
  paused: 'rests until its organization or hook is resumed',
  in_flight: 'is in the delivery queue, or being sent: nothing is stored by which these could be told apart',
  delivered: 'the receiver took it',
  failed: 'the last attempt failed, and no other follows by itself',
  never_made: 'there is no delivery, and none will follow by itself',
} as const;

export type State = keyof typeof states;

export const steps = {
  occurred: "the event occurred, by its producer's clock",
  taken: 'it was taken from its queue and stored',
  matched: 'its hooks were looked for',
  throttled: "the account's limit made the delivery wait",
  handed_over: 'the delivery was handed over, to RabbitMQ or to where deliveries wait',
  attempt: 'an attempt began',
  recorded: 'its outcome was written down',
  waits: 'the delivery began to wait where it is now',
} as const;

export type Step = keyof typeof steps;

export const causes = {
  another_place: 'the event occurred in another place',
  not_subscribed: 'the hook does not subscribe to its type',
  not_active: 'the hook is not active',
  restricted_app: 'the organization restricts the OAuth app that made the hook',
  too_many_tags: 'more than three tags were pushed at once',
  duplicate: 'a message with the same source, id and subject had come within 24 hours before',
  dead_letter: 'it was refused, and lies among the dead letters',
  hook_newer: 'the hook was made after the event came',
  hook_deleted: 'the hook was deleted before the delivery was made',
  settings_changed: 'the settings that decided are kept no longer',
  no_hook: 'there is no hook in its place',
  unknown_account: 'there was no organization of that name when the event came',
  not_received: 'no such event is stored',
} as const;

export type CauseName = keyof typeof causes;

/** As shown in a property's description. */
export const listed = (words: Record<string, string>): string =>
  Object.entries(words)
    .map(([word, meaning]) => `\`${word}\`: ${meaning}`)
    .join('; ');
