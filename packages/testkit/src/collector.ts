/** A collector of traces: accepts what an OTLP/HTTP exporter sends as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { until } from './until.ts';

export type CollectedSpan = {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  kind: number;
  /** ms since 1970. */
  beganAt: number;
  endedAt: number;
  attributes: Record<string, unknown>;
  /** 2: an error. */
  status: number;
};

export type Collector = AsyncDisposable & {
  /** The value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  spans: CollectedSpan[];
  /** The header `authorization` of each request. */
  authorizations: (string | undefined)[];
  /** The spans of a trace, in order of their start, once there are `count`. */
  trace(traceId: string, count: number): Promise<CollectedSpan[]>;
};

type Value = Record<string, unknown>;
type Attribute = { key: string; value: Value };
type Sent = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes?: Attribute[];
        status?: { code?: number };
      }[];
    }[];
  }[];
};

export async function openCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const authorizations: Collector['authorizations'] = [];
  const server = createServer(async (request, response) => {
    authorizations.push(request.headers.authorization);
    const sent = (await json(request)) as Sent;
    spans.push(...sent.resourceSpans.flatMap(read));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    authorizations,
    trace: (traceId, count) =>
      until(`${count} spans of ${traceId}`, () => {
        const own = spans.filter((span) => span.traceId === traceId).sort((a, b) => a.beganAt - b.beganAt);
        return own.length >= count && own;
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function read({ resource, scopeSpans }: Sent['resourceSpans'][number]): CollectedSpan[] {
  const service = String(valuesOf(resource.attributes)['service.name']);
  return scopeSpans.flatMap((scope) =>
    scope.spans.map((span) => ({
      service,
      name: span.name,
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId || undefined,
      kind: span.kind,
      beganAt: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
      endedAt: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
      attributes: valuesOf(span.attributes ?? []),
      status: span.status?.code ?? 0,
    })),
  );
}

const valuesOf = (attributes: Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
