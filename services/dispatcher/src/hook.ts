/** A hook, as routing and as deliveries need it. */
import type { SigningKeys } from './delivering/sign.ts';

/** What routing needs to know about a hook. */
export type Subscription = {
  id: number;
  /** null: an organization hook. */
  repositoryId: number | null;
  /** Active, and not disabled by an OAuth app access restriction. */
  deliverable: boolean;
  /** Deliveries are paused, for the hook or for its whole account. */
  paused: boolean;
  events: ReadonlySet<string>;
};

export type Hook = Subscription & {
  accountId: number;
  /** `cli`: deliveries go to listeners, not to the URL. */
  name: 'web' | 'cli';
  /** As the user gave it, without user name and password. */
  url: string;
  /** The same, parsed once. */
  target: URL;
  /** Its user name and password, as basic authentication. */
  authorization: string | null;
  contentType: 'json' | 'form';
  insecureSsl: boolean;
  keys: SigningKeys | null;
  /** Keys of the previous secret, while receivers may still be using it. */
  previousKeys: (SigningKeys & { untilMs: number }) | null;
  retry: boolean;
  /** When any part of the hook last changed, ms since 1970. */
  changedAtMs: number;
  /** Custom request headers; their values are secret. */
  headers: Readonly<Record<string, string>>;
};
