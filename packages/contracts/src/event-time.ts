/** The attribute `time` of an event. */

// As seconds, anything above this is later than the year 5138; as milliseconds, every time since 1973 is above it.
const secondsMax = 1e11;
// Outside of these years JavaScript writes a time in a form that PostgreSQL does not read.
const [timeMin, timeMax] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/**
 * RFC 3339, or an instant as AMQP 1.0 counts it: whole milliseconds since 1970. AMQP 0-9-1 also has a timestamp type, which counts seconds;
 * brokers that translate from AMQP 1.0 put milliseconds there.
 */
export function parseTime(value: unknown): Date | undefined {
  const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
  // amqplib's form of AMQP timestamps.
  const { '!': kind, value: timestamp } = (typeof value === 'object' && value ? value : {}) as Record<string, unknown>;
  let date: Date;
  if (kind === 'timestamp' && typeof timestamp === 'number')
    date = new Date(timestamp < secondsMax ? timestamp * 1000 : timestamp);
  else if (typeof value === 'number' && Number.isSafeInteger(value)) date = new Date(value);
  else if (typeof value === 'string' && rfc3339.test(value) && isDay(value.slice(0, 10)))
    date = new Date(value.replace(leapSecond, '59'));
  else return undefined;
  return date.getTime() >= timeMin && date.getTime() <= timeMax ? date : undefined;
}

/** JavaScript has no leap seconds: each is taken for the second before it. */
const leapSecond = /(?<=T\d\d:\d\d:)60/i;

/** JavaScript takes 30 February for 2 March. */
const isDay = (text: string): boolean => new Date(text).getUTCDate() === Number(text.slice(8));
