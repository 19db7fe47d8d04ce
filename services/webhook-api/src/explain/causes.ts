/**
 * Why an event has no delivery to a hook. Part of the decision is stored with the event; the rest is derived from the hook's current settings,
 * which are reliable only if they have not changed since. Pure.
 */
import { type DeadReason, deadReasons } from '@gatepost/contracts/dead-reason';
import { ownSource } from '@gatepost/webhook-db/requested';
import type { HookSettings } from './hooks.ts';
import { firstDeliveryId, type Known, placeOf } from './known.ts';
import type { EventRow } from './rows.ts';
import type { Cause } from './schema.ts';
import type { CauseName } from './words.ts';

type NoEvent = Pick<Known, 'letters' | 'keptSince'> & { account: { login: string } };
type Live = Extract<HookSettings, { isGone: false }>;

const duplicatesMs = 24 * 3_600_000;

/** Until when another message of the event counts as a duplicate. */
export const duplicatesUntil = (event: EventRow): Date => new Date(event.received_at.getTime() + duplicatesMs);

/** Undefined: nothing prevents the delivery, and it has been handed over. */
export function causesOf(known: Known): Cause[] | undefined {
  const { event, hook } = known;
  if (!event) return causesOfNoEvent(known);
  return firstDeliveryId(known) === undefined ? causesOfUnmatched(known, event) : causesOfMatched(known, event, hook);
}

/** No event with the guid is stored. */
export function causesOfNoEvent({ letters, account, keptSince }: NoEvent): Cause[] {
  if (letters && letters.length > 0) return letters.map((seen) => refused(seen.letter.reason));
  return [notReceived({ letters, account, keptSince })];
}

function notReceived({ letters, account, keptSince }: NoEvent): Cause {
  const kept = keptSince ? ` Events since ${keptSince} (UTC) are kept.` : '';
  const unseen = letters ? '' : ' The dead letters cannot be searched right now.';
  return cause(
    'not_received',
    true,
    `No event with this guid is stored for ${account.login}: it was never published, it names another place in its \`subject\`, it still waits in RabbitMQ, or it is too old.${kept}${unseen}`,
    "Check that its producer's publish was confirmed, and look at the event's `subject` and `id`. An administrator of the installation finds refused messages by GET /admin/dead-letters.",
  );
}

function causesOfMatched({ letters }: Known, event: EventRow, hook: HookSettings): Cause[] | undefined {
  if (hook.isGone) return [deleted()];
  if (event.routed_at === null) return undefined;
  const buried = letters?.find(({ job }) => job?.hookId === hook.id);
  if (buried) return [refused(buried.letter.reason)];
  const causes = causesOfHook(hook, event).filter((one) => one.cause !== 'not_subscribed');
  if (!event.is_swept) return causes.length > 0 ? causes : undefined;
  // It was cancelled when its turn came. A hook that is active again does not get it by itself.
  if (event.source !== ownSource) return orChanged(causes, hook, event);
  return causes.length > 0 ? causes : [{ ...changed(event, hook), next: 'Ask for it anew: no replay sends it.' }];
}

const deleted = (): Cause => cause('hook_deleted', true, 'The hook was deleted before its delivery was made.', null);

/** Neither a replay nor another subscription brings it here (decision 0313). */
const ofAnotherHook = (): Cause =>
  cause('another_hook', true, 'It is a ping, or somebody made it up (`…/triggers`), for another hook alone.', null);

/** The event was stored, but not for this hook. */
function causesOfUnmatched({ now, hook }: Known, event: EventRow): Cause[] {
  if (hook.isGone) return [deleted()];
  if (event.source === ownSource) return [ofAnotherHook()];
  const causes = causesOfEvent(event) ?? causesOfPlace(event, hook) ?? causesOfSettings(event, hook);
  const { cause: first } = causes[0]!;
  // Somebody who has fixed the cause and publishes the event again would run into this next.
  if (first !== 'too_many_tags' && now < duplicatesUntil(event)) causes.push(maybeDuplicate(event));
  return causes;
}

/** What kept it from all hooks. */
export function causesOfEvent(event: EventRow): Cause[] | undefined {
  const place = placeOf(event) ?? 'its place';
  switch (event.unmatched) {
    case 'too_many_tags':
      return [
        cause(
          'too_many_tags',
          true,
          'More than three tags were pushed at once: such a push triggers nothing.',
          'Push at most three tags at a time.',
        ),
      ];
    case 'unknown_account':
      return [
        cause(
          'unknown_account',
          true,
          `When the event came there was no organization for \`${place}\`.`,
          'Have its producer publish it again under a new id.',
        ),
      ];
    case 'unknown_repository':
      return [
        cause(
          'another_place',
          true,
          `It occurred in \`${place}\`, and when it came there was no repository of that name.`,
          "Check the event's `subject`, create the repository, and have the event published again under a new id.",
        ),
      ];
    default:
      return undefined;
  }
}

function causesOfPlace(event: EventRow, hook: Live): Cause[] | undefined {
  if (hook.repositoryId === null || hook.repositoryId === event.repository_id) return undefined;
  const place = placeOf(event);
  const where = event.repository_id === null ? 'in the organization itself' : `in \`${place ?? 'another repository'}\``;
  return [
    cause(
      'another_place',
      true,
      `It occurred ${where}; a repository's hook gets only the events of its own repository.`,
      'Create a hook there, or one of the organization, which gets the events of all its repositories.',
    ),
  ];
}

function causesOfSettings(event: EventRow, hook: Live): Cause[] {
  if (hook.createdAt > event.received_at)
    return [
      cause(
        'hook_newer',
        true,
        `The hook was created at ${hook.createdAt.toISOString()}, after the event came.`,
        replay(hook, event),
      ),
    ];
  return orChanged(causesOfHook(hook, event), hook, event);
}

/** The causes, each with the replay that follows its removal; if there are none today, there were. */
function orChanged(causes: Cause[], hook: Live, event: EventRow): Cause[] {
  if (causes.length === 0) return [changed(event, hook)];
  return causes.map((one) => ({ ...one, next: `${one.next} Then replay: ${replay(hook, event)}` }));
}

/** How an active hook that subscribes to the event can get it. */
const replay = ({ path }: Live, { received_at }: EventRow): string =>
  `POST ${path}/deliveries/replays {"since": "${received_at.toISOString()}", "status": "missed"} sends what it missed since then.`;

/** Which of the current settings prevent it. */
function causesOfHook(hook: Live, event: EventRow): Cause[] {
  const isUnchanged = hook.updatedAt <= event.received_at;
  const today = isUnchanged ? '' : ` (today's settings: the hook was changed at ${hook.updatedAt.toISOString()})`;
  const causes: Cause[] = [];
  if (!hook.active)
    causes.push(
      cause(
        'not_active',
        isUnchanged,
        `The hook is not active${today}.`,
        `Activate it: PATCH ${hook.path} {"active": true}.`,
      ),
    );
  if (hook.restricted)
    causes.push(
      cause(
        'restricted_app',
        false,
        "The organization restricts the OAuth app that created the hook, which disables it (today's settings).",
        'An admin of the organization can approve the app, or create the hook without it.',
      ),
    );
  if (!hook.events.includes('*') && !hook.events.includes(event.type))
    causes.push(
      cause(
        'not_subscribed',
        isUnchanged,
        `The hook does not subscribe to \`${event.type}\`${today}.`,
        `Subscribe: PATCH ${hook.path} {"add_events": ["${event.type}"]}.`,
      ),
    );
  return causes;
}

function changed(event: EventRow, hook: Live): Cause {
  const isChanged = hook.updatedAt > event.received_at;
  const when = isChanged ? `, and it was changed at ${hook.updatedAt.toISOString()}, after the event came` : '';
  return cause(
    'settings_changed',
    isChanged,
    `Today's settings of the hook would let it through${when}. Its settings at that time, and whether its OAuth app was restricted, are not kept.`,
    replay(hook, event),
  );
}

function maybeDuplicate(event: EventRow): Cause {
  const until = duplicatesUntil(event).toISOString();
  return cause(
    'duplicate',
    false,
    `If it was published again: until ${until} a message with the same source, id and subject is a duplicate and makes no delivery. Duplicates are not stored.`,
    'Publish it under a new id, or replay.',
  );
}

/** A message or a delivery that could not be handled. */
function refused(given: string | null): Cause {
  // Of another version, or put among the dead letters by hand, it may have any reason.
  const reason = deadReasons.find((known) => known === given) ?? null;
  const [what, next] = refusals[reason ?? 'not_handled'];
  return {
    ...cause('dead_letter', true, `It was refused and is among the dead letters: ${what}.`, next),
    reason,
  };
}

const mend = 'Fix its producer, and publish the event again.';
const askAdmin =
  'An administrator of the installation can see why (GET /admin/dead-letters), and publish it again once the cause is fixed.';

const refusals: Record<DeadReason, [what: string, next: string]> = {
  too_large: ['it is larger than 25 MB', 'Publish a smaller payload.'],
  not_json: ['its body is not JSON', mend],
  not_utf8: ['its body is not UTF-8', mend],
  not_an_object: ['its body is not a JSON object', mend],
  not_a_cloudevent: ['it is not a CloudEvent', mend],
  missing_attribute: ['an attribute is missing', mend],
  bad_attribute: ['an attribute is invalid', mend],
  not_storable: ['PostgreSQL refuses it', askAdmin],
  not_a_job: ['it is not a delivery', askAdmin],
  job_not_authentic: ['none of our services made it', askAdmin],
  not_handled: ['it could not be handled', askAdmin],
  producer_unknown: [
    'its producer is not among those that may publish',
    'An administrator of the installation can add the producer to PRODUCERS_FILE.',
  ],
  producer_not_allowed: [
    'its producer may not publish for this organization',
    'An administrator of the installation can allow it in PRODUCERS_FILE.',
  ],
};

export function cause(name: CauseName, certain: boolean, sentence: string, next: string | null): Cause {
  return { cause: name, certain, sentence, next, reason: null };
}
