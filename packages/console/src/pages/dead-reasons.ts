/** Why messages become dead letters, and what helps (docs/runbooks.md, "Dead letters"). */
export const letterKey = ['dead letters'];

export const reasons: Record<string, { text: string; next: string }> = {
  too_large: {
    text: 'Too large',
    next: 'Make the producer send less, or raise the limit and publish this message again.',
  },
  not_json: {
    text: 'Not JSON',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  not_utf8: {
    text: 'Not UTF-8',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  not_an_object: {
    text: 'Payload is not an object',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  not_a_cloudevent: {
    text: 'Not a CloudEvent',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  missing_attribute: {
    text: 'An attribute is missing',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  bad_attribute: {
    text: 'An attribute is wrong',
    next: 'Fix the producer. If you publish this message again, it will be refused again.',
  },
  not_storable: {
    text: 'PostgreSQL cannot store it',
    next: 'The detail says what it cannot store. Unless that has changed, the message will be refused again.',
  },
  not_a_job: {
    text: 'Not a delivery of ours',
    next: 'Something else publishes to the delivery queue. Check who uses that RabbitMQ user.',
  },
  job_not_authentic: {
    text: 'Not made by our services',
    next: 'The keys changed while it waited, or something else publishes to the delivery queue.',
  },
  not_handled: {
    text: 'Processing failed',
    next: 'The dispatcher’s log says why. Once that is fixed, publish it again.',
  },
  producer_unknown: {
    text: 'Unknown producer',
    next: 'Add the producer to those that may publish, or publish this message yourself.',
  },
  producer_not_allowed: {
    text: 'The producer may not publish it',
    next: 'Allow the producer to publish for this account, or publish this message yourself.',
  },
};

export const textOf = (reason: string | null): string =>
  (reason && reasons[reason]?.text) ?? reason ?? 'No reason given';

/** A letter's time is whatever its producer wrote. */
export const isTime = (text: string | null): text is string => text !== null && !Number.isNaN(Date.parse(text));
