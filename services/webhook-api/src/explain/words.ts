/** The vocabulary of explanations, with meanings: for the API description, and docs/reference/explain.md. */

export const states = {
  queued: 'the event waits in RabbitMQ to be taken',
  throttled: "waits for its turn within its account's limit",
  retry: 'waits for its next attempt',
  receiver_busy: 'waits because the maximum number of attempts to its receiver is in flight',
  paused: 'waits until an administrator resumes its organization or hook',
  in_flight: 'is in the delivery queue, or being sent; the stored data does not distinguish the two',
  delivered: 'the receiver accepted it',
  failed: 'the last attempt failed, and there is no automatic further attempt',
  never_made: 'there is no delivery, and none follows automatically',
} as const;

export type State = keyof typeof states;

export const steps = {
  occurred: "the event occurred, by its producer's clock",
  taken: 'it was taken from its queue and stored',
  matched: 'its hooks were looked up',
  throttled: "the account's limit made the delivery wait",
  handed_over: 'the delivery was handed over, to RabbitMQ or to the waiting deliveries',
  attempt: 'an attempt began',
  recorded: 'its outcome was recorded',
  waits: 'the delivery began its current wait',
} as const;

export type Step = keyof typeof steps;

export const causes = {
  another_place: 'the event occurred in another place',
  another_hook: 'it is a ping or was made up, for another hook alone',
  not_subscribed: 'the hook does not subscribe to its type',
  not_active: 'the hook is not active',
  restricted_app: 'the organization restricts the OAuth app that made the hook',
  too_many_tags: 'more than three tags were pushed at once',
  duplicate: 'a message with the same source, id and subject came in the 24 hours before',
  dead_letter: 'it was refused and is among the dead letters',
  hook_newer: 'the hook was created after the event came',
  hook_deleted: 'the hook was deleted before the delivery was made',
  settings_changed: 'the settings at that time are not kept',
  no_hook: 'its place has no hook',
  unknown_account: 'there was no organization of that name when the event came',
  not_received: 'no such event is stored',
} as const;

export type CauseName = keyof typeof causes;

/** As shown in a property's description. */
export const listed = (words: Record<string, string>): string =>
  Object.entries(words)
    .map(([word, meaning]) => `\`${word}\`: ${meaning}`)
    .join('; ');
