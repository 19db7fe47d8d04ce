/** Where an action can run: Auth0’s names and versions of the triggers, and the function that an action exports for each. */

export type TriggerId =
  | 'post-login'
  | 'credentials-exchange'
  | 'pre-user-registration'
  | 'post-user-registration'
  | 'post-change-password';

type Trigger = { version: string; handler: string };

// biome-ignore format: a table
const triggers: Record<TriggerId, Trigger> = {
  'post-login':             { version: 'v3', handler: 'onExecutePostLogin' },
  'credentials-exchange':   { version: 'v2', handler: 'onExecuteCredentialsExchange' },
  'pre-user-registration':  { version: 'v2', handler: 'onExecutePreUserRegistration' },
  'post-user-registration': { version: 'v2', handler: 'onExecutePostUserRegistration' },
  'post-change-password':   { version: 'v2', handler: 'onExecutePostChangePassword' },
};

export const triggerIds = Object.keys(triggers) as TriggerId[];

export const isTriggerId = (text: string): text is TriggerId => Object.hasOwn(triggers, text);

export const versionOf = (id: TriggerId): string => triggers[id].version;

/** The function that an action exports for a trigger. */
export const handlerOf = (id: TriggerId): string => triggers[id].handler;

/** The function for a person who returns from where the action has sent them. */
export const continueHandler = 'onContinuePostLogin';

/** The only runtime; code that Auth0’s tools mark for older ones runs there too. */
export const defaultRuntime = 'node22';
export const runtimes = ['node22', 'node18', 'node18-actions', 'node16', 'node12'];
