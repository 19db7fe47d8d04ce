/** Of the API's answers, what the console reads. The whole is in /openapi.json. */
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
  /** Of a repository's. */
  last_response?: { code: number | null; status: string; message: string | null };
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
  /** false: it follows from other times. */
  exact: boolean;
  delivery_id: number | null;
  attempt: number | null;
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
