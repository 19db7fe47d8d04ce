/** Shared by fuzz runs: how a run is seeded and bounded, and values that have broken somebody's parser, database or log. */
import fc from 'fast-check';

/**
 * Runs `check` on `numRuns` generated cases, or on as many as there is time for: a slow machine makes a run shorter but never makes it fail.
 * The seed is always the same, so that only changes of the code cause failures; FUZZ_SEED sets another, and FUZZ_RUNS multiplies the number of
 * cases, to look for what the usual ones do not find.
 * @returns whether all cases were run. @throws with the seed, and the smallest case that fails.
 */
export async function fuzz<T>(
  cases: fc.Arbitrary<T>,
  check: (generated: T) => Promise<void>,
  { numRuns, timeLimitMs }: { numRuns: number; timeLimitMs: number },
): Promise<boolean> {
  const times = Number(process.env.FUZZ_RUNS ?? 1);
  let last: Promise<void> = Promise.resolve();
  const property = fc.asyncProperty(cases, (generated) => {
    last = check(generated);
    return last;
  });
  const details = await fc.check(property, {
    seed: Number(process.env.FUZZ_SEED ?? 20_261_122),
    numRuns: numRuns * times,
    interruptAfterTimeLimit: timeLimitMs * times,
    markInterruptAsFailure: false,
  });
  await last.catch(() => {}); // nobody awaited the last case of an interrupted run
  if (details.failed) throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
  return !details.interrupted;
}

/** Texts that confuse some programs: NUL, halves of characters, control and bidirectional characters, injections, encodings, sizes. */
export const oddText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\udc00\ud83d',
    '\u202e',
    '\ufeff',
    '\ufffe',
    '\u0085',
    '\r\n',
    '\u{1f600}',
  ),
  fc.constantFrom(
    "'; DROP TABLE hooks; --",
    '#{7*7}',
    '{{7*7}}',
    '../../etc/passwd',
    '%00',
    '%zz',
    '%ED%A0%80',
    '<script>',
    '1e999',
  ),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'null', 'undefined', 'NaN', '-0', '٣', 'ﬁ', 'İ'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
  fc.integer({ min: 100, max: 5_000 }).map((length) => 'x'.repeat(length)),
);

/** Values of every JSON type, in place of the expected one. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: oddText },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e308,
      2 ** 53,
      -(2 ** 31) - 1,
      [],
      {},
      [[]],
      [null],
    ),
  },
  { weight: 1, arbitrary: fc.array(oddText, { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.dictionary(oddText, oddText, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

/** Nested JSON, as text. */
export const deepJson = fc
  .tuple(fc.constantFrom('[', '{"a":'), fc.constantFrom(10, 63, 64, 65, 1_000, 5_000, 20_000))
  .map(([open, levels]) => `${open.repeat(levels)}1${(open === '[' ? ']' : '}').repeat(levels)}`);
