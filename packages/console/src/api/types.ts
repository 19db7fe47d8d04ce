/** The parts of the API's answers that the console reads. All of it is in /openapi.json. */
export type Membership = { role: 'admin' | 'member'; organization: { login: string } };

export type Repository = { id: number; name: string; full_name: string; private: boolean };

export type Hook = {
  id: number;
  name: string;
  active: boolean;
  events: string[];
  config: { url: string; content_type: 'json' | 'form'; secret?: string; insecure_ssl: '0' | '1' };
  /** Their values are masked. */
  request_headers: Record<string, string>;
  retry: 'on' | 'off';
  previous_secret_until: string | null;
  disabled_reason: 'oauth_app_restricted' | null;
  created_at: string;
  updated_at: string;
  health: Health;
};

export type Delivery = {
  id: number;
  guid: string;
  delivered_at: string;
  redelivery: boolean;
  duration: number;
  status: string;
  status_code: number;
  event: string;
  action: string | null;
  throttled_at: string | null;
  attempt: number;
};

export type Timings = {
  dns: number | null;
  connect: number | null;
  tls: number | null;
  first_byte: number | null;
  total: number;
};

export type WholeDelivery = Delivery & {
  url: string;
  error?: string | null;
  timings?: Timings | null;
  request: { headers: Record<string, string>; payload: unknown };
  response: { headers: Record<string, string> | null; payload: string | null };
};

export type EventType = { name: string; description: string; group: 'github' | 'gate' | 'own' };

export type DeliveryState =
  | 'queued'
  | 'throttled'
  | 'retry'
  | 'receiver_busy'
  | 'paused'
  | 'in_flight'
  | 'delivered'
  | 'failed'
  | 'never_made';

export type Step = {
  step: string;
  at: string;
  /** false: derived from other times. */
  exact: boolean;
  delivery_id: number | null;
  attempt: number | null;
  /** null: a step of the event itself. */
  redelivery: boolean | null;
  sentence: string;
};

export type Cause = { cause: string; certain: boolean; sentence: string; next: string | null };

export type Explanation = {
  guid: string;
  event: string | null;
  action: string | null;
  place: string | null;
  delivery_id: number | null;
  state: DeliveryState;
  since: string | null;
  /** null: it is over. */
  until: { at: string | null; reason: string } | null;
  sentence: string;
  next: string | null;
  causes: Cause[];
  duplicates_until: string | null;
  redeliverable: boolean;
  steps: Step[];
};

export type Replay = {
  id: number;
  state: 'counting' | 'running' | 'done' | 'stopped';
  stopped_because: 'asked' | 'hook_inactive' | null;
  since: string;
  until: string;
  status: 'failure' | 'all' | 'missed';
  events: string[] | null;
  total: number | null;
  done: number;
  failed: number;
  created_at: string;
  ended_at: string | null;
  expected_end_at: string | null;
};

export type DeliveryStatus = { paused_at: string | null; paused_hooks: { id: number; since: string }[] };

export type DeadLetter = {
  id: string;
  reason: string | null;
  detail: string | null;
  message_id: string | null;
  event: string | null;
  subject: string | null;
  source: string | null;
  /** As written by the producer. */
  occurred_at: string | null;
  bytes: number;
};

export type WholeDeadLetter = DeadLetter & {
  headers: Record<string, unknown>;
  payload: string;
  payload_encoding: 'utf-8' | 'base64';
};

/** From `/admin/organizations`. */
export type Organization = {
  id: number;
  login: string;
  created_at: string;
  paused_at: string | null;
  repositories: number;
  hooks: number;
  members: number;
  /** For one day. */
  health: { delivered: number; failed: number; success_rate: number | null };
};

export type WaitingReason = 'limit' | 'retry' | 'busy' | 'paused' | 'handed_over';

export type Limit = { rate: number; burst: number };

type Counts = {
  delivered: number;
  failed: number;
  success_rate: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
  throttled: number;
  retried: number;
  redelivered: number;
  /** null: for a single hook. */
  came_in: number | null;
};

export type StatsPoint = Counts & {
  at: string;
  /** For the limit, at the end of that time; null: for a single hook, or not counted. */
  waiting: number | null;
};

export type Stats = {
  since: string;
  until: string;
  resolution: 'minute' | 'hour' | 'day';
  total: Counts;
  /** The whole time, including points without activity. */
  points: StatsPoint[];
  now: {
    waiting: {
      reason: WaitingReason;
      deliveries: number;
      /** There are more than were counted. */
      more?: boolean;
      since: string | null;
      next_at: string | null;
    }[];
    /** Only for all accounts together. */
    dead_letters: number | null;
    dispatchers: number | null;
    /** Only for one account. */
    limit: Limit | null;
    expected_end_at: string | null;
  };
};

/** The parts of `/admin/status` that are not in the statistics. */
export type AdminStatus = {
  queues: { name: string; messages: number | null }[];
  organizations: { login: string | null; reason: WaitingReason; deliveries: number; since: string | null }[];
  paused: {
    organizations: { login: string; since: string }[];
    hooks: { id: number; organization: string; since: string }[];
  };
};

/** Over the last 24 hours, plus the last delivery in the log. */
export type Health = {
  last_status: string | null;
  last_status_code: number | null;
  last_delivery_at: string | null;
  delivered: number;
  failed: number;
  success_rate: number | null;
};

/** A hook in an account's list. `repository` is null for the organization's own. */
export type ListedHook = Hook & { repository: { id: number; name: string; full_name: string } | null };

/** From `/accounts/{login}/waiting`. */
export type WaitingDelivery = {
  id: number;
  reason: WaitingReason;
  guid: string | null;
  event: string | null;
  action: string | null;
  hook_id: number | null;
  attempt: number | null;
  redelivery: boolean;
  occurred_at: string | null;
  throttled_at: string | null;
  due_at: string | null;
};
