/** Why a message cannot be taken; also the value of its `x-reason` header and never anything else. */
export const deadReasons = [
  'too_large',
  'not_json',
  'not_utf8',
  'not_an_object',
  'not_a_cloudevent',
  'missing_attribute',
  'bad_attribute',
  'not_storable',
  'not_a_job',
  'job_not_authentic',
  'not_handled',
  'producer_unknown',
  'producer_not_allowed',
] as const;

export type DeadReason = (typeof deadReasons)[number];
