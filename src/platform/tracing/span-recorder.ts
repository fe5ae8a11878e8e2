import type { EventSpan, SpanKind } from '../../delivery/destinations/event.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Clock } from '../time/clock.ts'
import { newSpanId, newTraceId, randomFlag, sampledFlag, type TraceContext } from './trace-parent.ts'

export type SpanAttributes = EventSpan['attributes']

/** A span that has ended. That of the request itself has no parent unless the client sent one. */
export interface RecordedSpan extends Omit<EventSpan, 'parentSpanId'> {
  parentSpanId: string | null
  kind: SpanKind
}

/** The trace a request belongs to, and its own span. */
export interface RequestRoot extends Pick<TraceContext, 'traceId' | 'flags' | 'state'> {
  spanId: string
  /** The client's span. */
  parentSpanId: string | null
}

/** Continues the client's trace, or begins a new one. */
export function createRoot(context: TraceContext | null): RequestRoot {
  const spanId = newSpanId()
  if (context) return { ...context, spanId, parentSpanId: context.spanId }
  return { traceId: newTraceId(), spanId, parentSpanId: null, flags: sampledFlag | randomFlag, state: null }
}

/** A receiver of spans besides the event of the request. */
export interface SpanSink {
  add(root: RequestRoot, span: RecordedSpan): void
}

interface RecorderOptions {
  /** The name of the span of the request itself. */
  name: string
  attributes: SpanAttributes
  clock: Clock
  /** Milliseconds of the monotonic clock. */
  startedAt: number
  /** The client sent the trace, or the gateway exports it: it is sent to upstreams. */
  isPropagated: boolean
  sink: SpanSink | null
  nesting?: Nesting
}

/** What makes a request a part of the trace of another one. */
export interface Nesting {
  /** What it is made for, such as `advisor`. */
  purpose: string
  /** The trace that the body of the outer request names for destinations; null if it names none. */
  eventTraceId: string | null
}

/** Enough for every stage and attempt of a request, and for the turns and tools of nearly all. */
const maxSpans = 256

/**
 * The stages and attempts of one request. Names and attributes are the gateway's own: never text of a client or a
 * provider. The span of the request itself ends with its response; that of a stream with its settlement.
 */
export class SpanRecorder {
  readonly root: RequestRoot
  readonly isPropagated: boolean
  /** The stages and attempts that have ended. */
  readonly spans: EventSpan[] = []
  /** Null for a request of a client. */
  readonly nesting: Nesting | null
  readonly #sink: SpanSink | null
  /** Milliseconds to add to the monotonic clock. */
  readonly #offset: number
  readonly #startedAt: number
  #count = 0
  readonly #open = new Set<OpenSpan>()
  /** The stage in progress, which what begins now is a part of. */
  #stage: OpenSpan | null = null
  #name: string
  #attributes: SpanAttributes
  #error: string | null = null
  #hasResponded = false
  #isStreaming = false
  #hasEnded = false

  constructor(root: RequestRoot, options: RecorderOptions) {
    const { name, attributes, clock, startedAt, isPropagated, sink } = options
    this.root = root
    this.#name = name
    this.#attributes = attributes
    this.isPropagated = isPropagated
    this.nesting = options.nesting ?? null
    this.#sink = sink
    this.#offset = clock.now() - performance.now()
    this.#startedAt = startedAt
  }

  /** Null once there are too many. `startedAt` is of the monotonic clock. */
  begin(
    name: string,
    {
      kind = 'internal',
      attributes = {},
      startedAt = performance.now(),
      parent = this.#stage,
    }: BeginOptions = {},
  ): OpenSpan | null {
    if (this.#count >= maxSpans) return null
    this.#count++
    if (parent) parent.isParent = true
    const parts = { name, kind, attributes, startedAt, parent }
    const opened = new OpenSpan(parts, (span, endedAt, error) => {
      this.#open.delete(span)
      if (this.#stage === span) this.#stage = span.parent
      this.#record(span, endedAt, error)
      this.#endRoot()
    })
    this.#open.add(opened)
    return opened
  }

  /** Begins a stage: until it ends, other spans are its children. Stages are not concurrent. */
  beginStage(name: string): OpenSpan | null {
    const span = this.begin(name)
    if (span) this.#stage = span
    return span
  }

  /** The recorder of a request that is made on behalf of this one: for `parent`, or else for the stage in progress. */
  nest(name: string, nesting: Nesting, parent: OpenSpan | null): SpanRecorder {
    const outer = parent ?? this.#stage
    if (outer) outer.isParent = true
    const { spanId: parentSpanId } = outer ?? this.root
    const root = { ...this.root, spanId: newSpanId(), parentSpanId }
    return new SpanRecorder(root, {
      name,
      attributes: { 'headgate.request.purpose': nesting.purpose },
      // The same times as those of the outer request, even if the clock has been set since.
      clock: { now: () => performance.now() + this.#offset },
      startedAt: performance.now(),
      isPropagated: this.isPropagated,
      sink: this.#sink,
      nesting,
    })
  }

  /**
   * The spans for the event of a request that ends: those that have ended, and tools in progress that have children. The
   * stage that ends the request is left out.
   */
  listSpans(): EventSpan[] {
    const open = [...this.#open].filter((span) => span.isParent && span !== this.#stage)
    return [...this.spans, ...open.map((span) => this.#toEventSpan(span, performance.now(), 'cancelled'))]
  }

  /** Names the span of a nested request; that of a client's is named after its operation. */
  rename(name: string): void {
    if (this.nesting) this.#name = name
  }

  /** Adds to the span of the request itself. */
  describe(attributes: SpanAttributes, error: string | null = null): void {
    this.#attributes = { ...this.#attributes, ...attributes }
    this.#error ??= error
  }

  /** The response may begin long before it ends. Followed by `endStream`, however it ends. */
  beginStream(): void {
    this.#isStreaming = true
  }

  endStream(): void {
    this.#isStreaming = false
    this.#endRoot()
  }

  /** The response, or the beginning of a streamed one. */
  respond(status: number): void {
    this.describe({ 'http.response.status_code': status }, status >= 500 ? String(status) : null)
    this.close()
  }

  /** The request has ended, except for a stream or spans that are still open. */
  close(): void {
    this.#hasResponded = true
    this.#endRoot()
  }

  #record(open: OpenSpan, endedAt: number, error: string | null): void {
    const span = this.#toEventSpan(open, endedAt, error)
    this.spans.push(span)
    this.#sink?.add(this.root, { ...span, kind: open.kind })
  }

  #toEventSpan(
    { spanId, parent, name, kind, attributes, startedAt }: OpenSpan,
    endedAt: number,
    error: string | null,
  ): EventSpan {
    return {
      spanId,
      parentSpanId: (parent ?? this.root).spanId,
      name,
      ...this.#toWallTimes(startedAt, endedAt),
      attributes,
      error,
      ...(kind !== 'internal' && { kind }),
    }
  }

  #endRoot(): void {
    if (!this.#hasResponded || this.#isStreaming || this.#open.size > 0 || this.#hasEnded) return
    this.#hasEnded = true
    const { spanId, parentSpanId } = this.root
    this.#sink?.add(this.root, {
      spanId,
      parentSpanId,
      name: this.#name,
      kind: this.nesting ? 'client' : 'server',
      ...this.#toWallTimes(this.#startedAt, performance.now()),
      attributes: this.#attributes,
      error: this.#error,
    })
  }

  #toWallTimes(startedAt: number, endedAt: number) {
    return { startedAt: toExact(startedAt + this.#offset), endedAt: toExact(endedAt + this.#offset) }
  }
}

/** Rounds to 1/64 ms: times and their differences are then whole nanoseconds, and exact as numbers. */
function toExact(ms: number): number {
  return Math.round(ms * 64) / 64
}

interface BeginOptions {
  kind?: SpanKind
  attributes?: SpanAttributes
  startedAt?: number
  /** The stage in progress if absent; without one, the request itself. */
  parent?: OpenSpan | null
}

type EndFn = (span: OpenSpan, endedAt: number, error: string | null) => void

/** A span in progress. */
export class OpenSpan {
  readonly spanId = newSpanId()
  readonly name: string
  readonly kind: SpanKind
  readonly startedAt: number
  /** Null: the request itself. */
  readonly parent: OpenSpan | null
  attributes: SpanAttributes
  isParent = false
  #onEnd: EndFn | null

  constructor(
    { name, kind, attributes, startedAt, parent }: Required<BeginOptions> & { name: string },
    onEnd: EndFn,
  ) {
    this.name = name
    this.kind = kind
    this.attributes = attributes
    this.startedAt = startedAt
    this.parent = parent
    this.#onEnd = onEnd
  }

  describe(attributes: SpanAttributes): void {
    this.attributes = { ...this.attributes, ...attributes }
  }

  /** The first call counts. */
  end(error: string | null = null, endedAt = performance.now()): void {
    const onEnd = this.#onEnd
    this.#onEnd = null
    onEnd?.(this, endedAt, error)
  }
}

/** Runs a stage of a request; a plain call if its spans are not read. */
export function withSpan<A extends unknown[], T>(
  request: { spans: SpanRecorder | null },
  name: string,
  stage: (...args: A) => T,
  ...args: A
): T {
  const span = request.spans?.beginStage(name)
  if (!span) return stage(...args)
  try {
    const result = stage(...args)
    if (!(result instanceof Promise)) {
      span.end()
      return result
    }
    // The same promise is returned: its rejection is handled by the caller.
    void result.then(
      () => span.end(),
      (error: unknown) => span.end(nameError(error)),
    )
    return result
  } catch (error) {
    span.end(nameError(error))
    throw error
  }
}

/** Runs a nested request, and ends its span with it. */
export async function withNestedSpan<T>(spans: SpanRecorder | null, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    spans?.describe({}, nameError(error))
    throw error
  } finally {
    spans?.close()
  }
}

/** The code of an error, without the message, which may quote the request. */
export function nameError(error: unknown): string {
  return error instanceof GatewayError ? error.code : 'internal'
}
