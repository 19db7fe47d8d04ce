/** What the pages below `/account` show. Texts are named here, by their keys in `strings/account/`; only names and addresses come as they are. */
import type { Form } from './pages.ts';
import type { AccountText, NoticeName } from './strings/en.ts';

/** Of the profile, by Auth0's names, in the order of the page. */
export const profileFields = ['name', 'given_name', 'family_name', 'nickname', 'picture'] as const;

/** One of the pages that the first leads to: its text, and `…About` below it. */
export type AccountSection = { key: AccountText; href: string };

export type AccountListName = 'security' | 'signIns' | 'devices' | 'applications' | 'activity';

/** What a log entry is called. */
export type AccountActivity = Extract<AccountText, `did${string}` | `failed${string}`>;

/** A text of ours, a name or an address, a time; in this order, those that are there. */
export type AccountNote = { key?: AccountText; text?: string; at?: Date };

/** `action` is posted with the item's `id`. */
export type AccountAction = { action: string; key: AccountText };

export type AccountItem = {
  id: string;
  /** As its owner or somebody else has named it; else what it is. */
  title?: string;
  kind?: AccountText;
  notes: AccountNote[];
  actions?: AccountAction[];
  /** Whether it can be given a name: posts `name`, with `action=rename`. */
  rename?: { name: string };
};

/** Part of a list. `links` lead to pages, `buttons` post their action; one that leads elsewhere posts `id` and has a label of its own. */
export type AccountGroup = {
  title?: AccountText;
  /** Shown where there is nothing. */
  empty?: AccountText;
  about?: AccountText;
  items: AccountItem[];
  links?: { href: string; key: AccountText }[];
  buttons?: (AccountAction & { id?: string; label?: string; mark?: string; icon?: string })[];
};

type Noted = { notice?: NoticeName };

export type AccountPages = {
  account: Form & Noted & { sections: AccountSection[]; signOut: string };
  /** Posts the fields. With `provider`, where they come from, nothing can be changed. */
  'account-profile': Form &
    Noted & {
      profile: { id: (typeof profileFields)[number]; value: string }[];
      email?: string;
      isVerified?: boolean;
      emailPath?: string;
      provider?: string;
    };
  /** Posts `email`; then, with `sentTo`, `code`, or `action=resend` or `other`. */
  'account-email': Form & Noted & { sentTo?: string; resent?: boolean };
  /** `old`: posts `old_password` and `password`. `mail`: there is none yet. `action=mail` asks for a link. */
  'account-password': Form &
    Noted & { way: 'old' | 'mail' | 'none'; identifier: string; hasMail: boolean; passwordMinLength: number };
  'account-list': Form &
    Noted & { list: AccountListName; groups: AccountGroup[]; codesLeft?: number; browsers?: number };
  /** `download` and `deletion` are paths. */
  'account-data': Form & Noted & { download: string; deletion?: string };
  /** Posts `confirm=yes`. */
  'account-delete': Form & Noted & { back: string };
  'account-deleted': Record<never, never>;
};
