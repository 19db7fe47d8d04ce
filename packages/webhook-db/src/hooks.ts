/** The columns of a hook's row that concern its deliveries, as both services read them. */
export type HookColumns = {
  id: number;
  /** `cli`: deliveries go to listeners on its socket. */
  name: 'web' | 'cli';
  events: string[];
  url: string;
  /** Sealed, like the secrets and the headers. */
  credentials: Buffer | null;
  content_type: 'json' | 'form';
  insecure_ssl: boolean;
  secret: Buffer | null;
  previous_secret: Buffer | null;
  previous_secret_until: Date | null;
  retry: boolean;
  headers: Buffer | null;
};
