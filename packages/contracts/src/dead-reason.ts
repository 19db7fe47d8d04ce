/** Why a message cannot be accepted; also the only possible values of its header `x-reason`. */
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
