/** What a hook's row says of its deliveries, as both services read it. */
export type HookColumns = {
  id: number;
  /** `cli`: its deliveries go to whoever listens at its socket. */
  name: 'web' | 'cli';
  events: string[];
  url: string;
  /** Sealed, as are the secrets and the headers. */
  credentials: Buffer | null;
  content_type: 'json' | 'form';
  insecure_ssl: boolean;
  secret: Buffer | null;
  previous_secret: Buffer | null;
  previous_secret_until: Date | null;
  retry: boolean;
  headers: Buffer | null;
};
