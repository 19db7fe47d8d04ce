/** Makes spans with OpenTelemetry's SDK and sends them by OTLP over HTTP. Loaded only when tracing is on. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Log } from './log.ts';
import type { Begin, Scope, Span, Tracing, TracingEnv } from './tracing.ts';

/** The exporter reads its own variables: OTEL_EXPORTER_OTLP_ENDPOINT, _TIMEOUT, _COMPRESSION, _HEADERS, and the same with _TRACES_. */
export function openTracing(service: string, env: TracingEnv, log: Log): Tracing {
  // It accepts these in this form only from the environment, and ours may come from a file.
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = env;
  if (endpoint !== undefined) process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
  if (headers !== undefined) process.env.OTEL_EXPORTER_OTLP_HEADERS = headers;
  const warn = (message: string, ...more: unknown[]) => log.warn({ detail: [message, ...more].map(String) }, 'traces');
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} });
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over our own name.
    resource: resourceFromAttributes({ 'service.name': `gatepost-${service}` }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler: samplerOf(env),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer('gatepost');
  const begin = (name: string, { kind, parent, attributes, beganAtMs }: Begin): Span => {
    const options = { kind: kinds[kind], attributes, ...(beganAtMs !== undefined && { startTime: beganAtMs }) };
    const span = tracer.startSpan(name, options, contextOf(parent));
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
      end(more, error, renamed) {
        if (renamed !== undefined) span.updateName(renamed);
        if (more) span.setAttributes(more);
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
        span.end();
      },
    };
  };
  const requests = new AsyncLocalStorage<Request>();
  return {
    begin,
    openScope: (parent) => openScope(requests, begin, parent),
    current() {
      const request = requests.getStore();
      if (!request) return undefined;
      return request.joined ?? spanOf(request, begin).traceparent;
    },
    traceId(surely) {
      const request = requests.getStore();
      if (!request) return undefined;
      const known = request.joined ?? request.span?.traceparent ?? request.parent;
      const [, id] = (typeof known === 'string' && form.exec(known)) || [];
      return id ?? (surely ? traceIdOf(spanOf(request, begin)) : undefined);
    },
    join(traceparent) {
      const request = requests.getStore();
      if (request && request.joined === undefined && typeof traceparent === 'string') request.joined = traceparent;
    },
    close: () => provider.shutdown(),
  };
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Its span is made when first needed, or at the end: until then the request may still find out which trace it belongs to. */
type Request = { parent: unknown; joined?: string; span?: Span; beganAtMs: number };

function spanOf(request: Request, begin: Tracing['begin']): Span {
  const { parent, joined, beganAtMs } = request;
  request.span ??= begin('request', { kind: 'server', parent: joined ?? parent, beganAtMs });
  return request.span;
}

function openScope(requests: AsyncLocalStorage<Request>, begin: Tracing['begin'], parent: unknown): Scope {
  const request: Request = { parent, beganAtMs: Date.now() };
  return {
    run: (work) => requests.run(request, work),
    traceId: () => traceIdOf(spanOf(request, begin)),
    end: (name, attributes, error) => spanOf(request, begin).end(attributes, error, name),
  };
}

const traceIdOf = ({ traceparent }: Span) => traceparent.slice(3, 35);

const form = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

function contextOf(parent: unknown): Context {
  const [, traceId, spanId, flags] = (typeof parent === 'string' && form.exec(parent)) || [];
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

/** Samplers by the specification's names (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). */
function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: TracingEnv): Sampler {
  const root = rootOf(name.replace('parentbased_', ''), ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootOf(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return new AlwaysOnSampler();
}
