/** `/admin/dead-letters`: lists, shows, republishes and drops messages that could not be accepted. */
import { z } from 'zod';
import { lookedMax } from '../dead-letters/dead-letters.ts';
import { deadLetterSchema, wholeLetterSchema } from '../dead-letters/letter.ts';
import { drop, publishAgain } from '../dead-letters/take.ts';
import { ApiError, notFound, validationFailed } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { filterText, linkHeader, pageLinks, pageQuery } from '../http/page.ts';

const text = z.string().optional();

const query = pageQuery.extend({
  cursor: z
    .string()
    .regex(/^v1_\d{1,4}_[0-9a-f]{24}$/, 'is not one of our cursors')
    .optional()
    .meta({ description: 'Where a page begins: from the `Link` header' }),
  page: z.string().optional().meta({ type: 'integer', minimum: 1, description: 'Page number, instead of a cursor' }),
  reason: text.meta({ description: 'Only those with this reason' }),
  event: text.meta({ description: 'Only those of events of this type' }),
  subject: text.meta({ description: 'Only those with this subject, such as `acme/widgets`' }),
});

export const listDeadLetters = tokenOperation({
  id: 'list-dead-letters',
  summary: 'List dead letters',
  query,
  answers: {
    200: {
      description: `A page of them, in the order of the queue; only its first ${lookedMax} are looked at`,
      schema: z.array(deadLetterSchema),
    },
  },
  async run({ parts, query: { page, cursor, per_page, reason, event, subject }, url }) {
    const seen = await parts.deadLetters.see();
    const letters = seen
      .map(({ letter }) => letter)
      .filter(
        (letter) =>
          (reason === undefined || letter.reason === reason) &&
          (event === undefined || letter.event === event) &&
          (subject === undefined || letter.subject === subject),
      );
    const filters = { reason, event, subject };
    if (page !== undefined && cursor === undefined) {
      const numbered = pageQuery.parse({ page, per_page: String(per_page) });
      const offset = (numbered.page - 1) * per_page;
      const headers = pageLinks(url, numbered, letters.length, filters);
      return { status: 200, body: letters.slice(offset, offset + per_page), headers };
    }
    const offset = cursor === undefined ? 0 : afterCursor(letters, cursor);
    const shown = letters.slice(offset, offset + per_page);
    const last = shown.at(-1);
    const isMore = last !== undefined && offset + per_page < letters.length;
    const next = `${url}?per_page=${per_page}${filterText(filters)}&cursor=v1_${offset + per_page}_${last?.id}`;
    return { status: 200, body: shown, headers: linkHeader(isMore ? [['next', next]] : []) };
  },
});

/**
 * The index after the previous page's last letter, which has only moved towards the head since; of equal letters, which share an id, the
 * nearest counts. If it is gone, the place it had.
 */
function afterCursor(letters: { id: string }[], cursor: string): number {
  const [, place, id] = cursor.split('_');
  const found = letters.findLastIndex((letter, index) => index < Number(place) && letter.id === id);
  return found < 0 ? Number(place) - 1 : found + 1;
}

export const getDeadLetter = tokenOperation({
  id: 'get-dead-letter',
  summary: 'Get a dead letter, with headers and payload',
  answers: { 200: { description: 'The letter', schema: wholeLetterSchema } },
  async run({ parts, params }) {
    const whole = await parts.deadLetters.findWhole(params.letter_id ?? '');
    if (!whole) throw notFound();
    return { status: 200, body: whole };
  },
});

export const publishDeadLetter = tokenOperation({
  id: 'publish-dead-letter',
  summary: 'Publish a dead letter again',
  answers: {
    202: {
      description:
        'It was published as it came, and removed from here. If it was refused because of its producer, it is published under the API’s own user: by publishing it, you vouch for it',
    },
    422: { description: 'It is neither an event nor a delivery that one of our services made' },
  },
  async run({ parts, params }) {
    const { published, left } = await publishAgain(parts, { ids: [params.letter_id ?? ''] });
    if (published + left === 0) throw notFound();
    if (published === 0)
      throw new ApiError(422, 'This letter is neither an event nor a delivery that one of our services made');
    return { status: 202 };
  },
});

export const dropDeadLetter = tokenOperation({
  id: 'drop-dead-letter',
  summary: 'Drop a dead letter',
  answers: { 204: { description: 'It is dropped' } },
  async run({ parts, params }) {
    if ((await drop(parts, { ids: [params.letter_id ?? ''] })) === 0) throw notFound();
    return { status: 204 };
  },
});

const wantedSchema = z
  .object({
    ids: z.array(z.string()).max(lookedMax).optional(),
    reason: z.string().optional(),
    all: z
      .boolean()
      .optional()
      .meta({ description: '`true` means all of them; otherwise ids or a reason must be given' }),
  })
  .meta({ id: 'DeadLetterSelection' });

export const publishDeadLetters = tokenOperation({
  id: 'publish-dead-letters',
  summary: 'Publish several dead letters again',
  body: wantedSchema,
  answers: {
    200: {
      description:
        'How many were published, and how many of those selected are left because they are neither events nor deliveries of ours or, with `all` alone, were refused because of their producer. By selecting such letters by id or reason, you vouch for them: they are published under the API’s own user',
      schema: z.object({ published: z.int(), left: z.int() }),
    },
  },
  async run({ parts, body }) {
    checkWanted(body);
    return { status: 200, body: await publishAgain(parts, body) };
  },
});

export const dropDeadLetters = tokenOperation({
  id: 'drop-dead-letters',
  summary: 'Drop several dead letters',
  query: z.object({
    ids: z.string().optional().meta({ description: 'These, separated by commas' }),
    reason: z.string().optional().meta({ description: 'Those with this reason' }),
    all: z.enum(['true']).optional().meta({ description: 'All of them' }),
  }),
  answers: { 200: { description: 'How many were dropped', schema: z.object({ dropped: z.int() }) } },
  async run({ parts, query }) {
    const wanted = { reason: query.reason, ids: query.ids?.split(',') };
    checkWanted({ ...wanted, all: query.all === 'true' });
    return { status: 200, body: { dropped: await drop(parts, wanted) } };
  },
});

/** An empty request means no letters, not all of them. */
function checkWanted({ ids, reason, all }: z.infer<typeof wantedSchema>): void {
  if (ids === undefined && reason === undefined && all !== true)
    throw validationFailed({ resource: 'DeadLetter', code: 'missing_field', field: 'reason' });
}
