/** The contents of the pages below `/account`. Texts are given by their keys in `strings/account/`; only names and addresses are literal. */
import type { Form } from './pages.ts';
import type { AccountText, NoticeName } from './strings/en.ts';

/** The profile's fields, by Auth0's names, in the order of the page. */
export const profileFields = ['name', 'given_name', 'family_name', 'nickname', 'picture'] as const;

/** A link on the first page: its text, with `…About` below it. */
export type AccountSection = { key: AccountText; href: string };

export type AccountListName = 'security' | 'signIns' | 'devices' | 'applications' | 'activity';

/** The title of a log entry. */
export type AccountActivity = Extract<AccountText, `did${string}` | `failed${string}`>;

/** A text of ours, a name or address, and a time; those present are shown in this order. */
export type AccountNote = { key?: AccountText; text?: string; at?: Date };

/** `action` is posted with the item's `id`. */
export type AccountAction = { action: string; key: AccountText };

export type AccountItem = {
  id: string;
  /** A name that its owner or somebody else gave it; otherwise `kind` is shown. */
  title?: string;
  kind?: AccountText;
  notes: AccountNote[];
  actions?: AccountAction[];
  /** Allows renaming: posts `name`, with `action=rename`. */
  rename?: { name: string };
};

/** Part of a list. `links` lead to pages, `buttons` post their action; a button to elsewhere posts `id` and has its own label. */
export type AccountGroup = {
  title?: AccountText;
  /** Shown if the list is empty. */
  empty?: AccountText;
  about?: AccountText;
  items: AccountItem[];
  links?: { href: string; key: AccountText }[];
  buttons?: (AccountAction & { id?: string; label?: string; mark?: string; icon?: string })[];
};

type WithNotice = { notice?: NoticeName };

export type AccountPages = {
  account: Form & WithNotice & { sections: AccountSection[]; signOut: string };
  /** Posts the fields. With `provider`, their source, nothing can be changed. */
  'account-profile': Form &
    WithNotice & {
      profile: { id: (typeof profileFields)[number]; value: string }[];
      email?: string;
      isVerified?: boolean;
      emailPath?: string;
      provider?: string;
    };
  /** Posts `email`; then, with `sentTo`, `code`, or `action=resend` or `other`. */
  'account-email': Form & WithNotice & { typed?: string; sentTo?: string; resent?: boolean };
  /** `old`: posts `old_password` and `password`. `mail`: there is no password yet. `action=mail` asks for a link. */
  'account-password': Form &
    WithNotice & { way: 'old' | 'mail' | 'none'; identifier: string; hasMail: boolean; passwordMinLength: number };
  'account-list': Form &
    WithNotice & { list: AccountListName; groups: AccountGroup[]; codesLeft?: number; browsers?: number };
  /** Asks before a sign-in method is removed, or recovery codes are replaced. `back` is a path. */
  'account-confirm': Form & {
    asks: 'removal' | 'codes';
    item?: { title?: string | undefined; kind?: AccountText | undefined };
    losesCodes?: boolean;
    back: string;
  };
  /** `download` and `deletion` are paths. */
  'account-data': Form & WithNotice & { download: string; deletion?: string };
  /** Posts `confirm=yes`. */
  'account-delete': Form & WithNotice & { back: string };
  'account-deleted': Record<never, never>;
};
