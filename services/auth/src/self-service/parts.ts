/** The dependencies of the pages below `/account`. */
import type { Provider } from 'oidc-provider';
import type { Authenticate } from '../accounts/authenticate.ts';
import type { SendPasswordMail } from '../accounts/password-mail.ts';
import type { Rate } from '../accounts/rate.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { PeopleActions } from '../actions/people.ts';
import type { PostLogin } from '../actions/post-login.ts';
import type { Sessions } from '../adapter/sessions.ts';
import type { Audit } from '../audit.ts';
import type { ClientStore } from '../clients/store.ts';
import type { Database, Pool } from '../database.ts';
import type { FactorParts } from '../factors/parts.ts';
import type { MakeCommonContext } from '../interaction/common-context.ts';
import type { PageMemory } from '../interaction/page-memory.ts';
import type { Mac } from '../keys/mac.ts';
import type { BreachedPasswords } from '../protection/breached/breached-passwords.ts';
import type { Report } from '../report.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { Linking } from '../upstream/link.ts';

export type AccountParts = FactorParts & {
  issuer: string;
  /** The management API's audience. */
  management: string;
  provider: Provider;
  db: Database;
  pool: Pool;
  accounts: AccountStore;
  clients: ClientStore;
  connections: ConnectionStore;
  settings: SettingsStore;
  sessions: Sessions;
  authenticate: Authenticate;
  breached: Pick<BreachedPasswords, 'refusesChange'>;
  sendPasswordMail: SendPasswordMail;
  linking: Linking;
  rate: Rate;
  csrf: Mac;
  pageMemory: PageMemory;
  commonContext: MakeCommonContext;
  audit: Audit;
  report: Report;
  people: PeopleActions;
  postLogin: Pick<PostLogin, 'isBound'>;
};
