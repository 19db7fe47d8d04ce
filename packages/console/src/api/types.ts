/** Of the API's answers, what the console reads. The whole is in /openapi.json. */
export type Membership = { role: 'admin' | 'member'; organization: { login: string } };

export type Repository = { id: number; name: string; full_name: string; private: boolean };

export type Hook = {
  id: number;
  name: string;
  active: boolean;
  events: string[];
  config: { url: string; content_type: 'json' | 'form'; secret?: string; insecure_ssl: string };
  request_headers?: Record<string, string>;
  retry?: 'on' | 'off';
  created_at: string;
  updated_at: string;
  last_response: { code: number | null; status: string; message: string | null };
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
