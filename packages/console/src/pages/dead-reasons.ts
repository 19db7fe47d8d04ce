/** Why messages become dead letters, and what helps (docs/runbooks.md, "Dead letters"). */
export const letterKey = ['dead letters'];

export const reasons: Record<string, { text: string; next: string }> = {
  too_large: {
    text: 'Too large',
    next: 'The producer sends less, or the limit is raised and this is published again.',
  },
  not_json: { text: 'No JSON', next: 'The producer has to be mended: published again it comes back.' },
  not_utf8: { text: 'No UTF-8', next: 'The producer has to be mended: published again it comes back.' },
  not_an_object: {
    text: 'Payload is no object',
    next: 'The producer has to be mended: published again it comes back.',
  },
  not_a_cloudevent: { text: 'No CloudEvent', next: 'The producer has to be mended: published again it comes back.' },
  missing_attribute: {
    text: 'An attribute is missing',
    next: 'The producer has to be mended: published again it comes back.',
  },
  bad_attribute: {
    text: 'An attribute is wrong',
    next: 'The producer has to be mended: published again it comes back.',
  },
  not_storable: {
    text: 'PostgreSQL cannot hold it',
    next: 'The detail names what. Published again it comes back unless that has changed.',
  },
  not_a_job: {
    text: 'No delivery of ours',
    next: 'Somebody publishes to the queue of deliveries: look who has that user of RabbitMQ.',
  },
  job_not_authentic: {
    text: 'Not made by our services',
    next: 'The keys changed while it waited, or somebody publishes to the queue of deliveries.',
  },
  not_handled: {
    text: 'Handling it failed',
    next: 'The dispatcher’s log says why. Once that is mended, publish it again.',
  },
  producer_unknown: {
    text: 'Unknown producer',
    next: 'Name the producer among those that may publish, or publish this one yourself.',
  },
  producer_not_allowed: {
    text: 'Its producer may not publish it',
    next: 'Let the producer publish for this account, or publish this one yourself.',
  },
};

export const textOf = (reason: string | null): string =>
  (reason && reasons[reason]?.text) ?? reason ?? 'No reason given';

/** A letter's time is whatever its producer wrote. */
export const isTime = (text: string | null): text is string => text !== null && !Number.isNaN(Date.parse(text));
