import type { SamplerConfig } from '../../config.ts'
import { resolveRequestId } from '../http/request-id.ts'
import type { Clock } from '../time/clock.ts'
import type { SpanExporter } from './span-exporter.ts'
import { createRoot, SpanRecorder } from './span-recorder.ts'
import { readTraceContext, sampledFlag, type TraceContext } from './trace-parent.ts'

interface TracedOperation {
  id: string
  /** Undefined for a page. */
  path?: string
}

/** The traces that the operator exports, of every operation. */
export class Tracer {
  readonly exporter: SpanExporter
  readonly #sampler: SamplerConfig
  readonly #clock: Clock
  readonly #recorders = new WeakMap<Request, SpanRecorder>()

  constructor(exporter: SpanExporter, sampler: SamplerConfig, clock: Clock) {
    this.exporter = exporter
    this.#sampler = sampler
    this.#clock = clock
  }

  /** Null if the request is not sampled, or not for an operation. */
  begin(request: Request, operation: TracedOperation | undefined): SpanRecorder | null {
    if (operation?.path === undefined) return null
    const { id, path } = operation
    const context = readTraceContext(request.headers)
    const root = createRoot(context)
    if (!shouldSample(this.#sampler, context, root.traceId)) return null
    const recorder = new SpanRecorder(
      { ...root, flags: root.flags | sampledFlag },
      {
        name: `${request.method} ${path}`,
        attributes: {
          'http.request.method': request.method,
          'http.route': path,
          'headgate.operation': id,
          'headgate.request_id': resolveRequestId(request),
        },
        clock: this.#clock,
        startedAt: performance.now(),
        isPropagated: true,
        sink: this.exporter,
      },
    )
    this.#recorders.set(request, recorder)
    return recorder
  }

  find(request: Request): SpanRecorder | null {
    return this.#recorders.get(request) ?? null
  }

  /** A request that the gateway makes of another one belongs to its trace. */
  share(original: Request, copy: Request): void {
    const recorder = this.#recorders.get(original)
    if (recorder) this.#recorders.set(copy, recorder)
  }
}

function shouldSample(
  { isParentBased, ratio }: SamplerConfig,
  context: TraceContext | null,
  traceId: string,
): boolean {
  if (isParentBased && context) return (context.flags & sampledFlag) !== 0
  return isInRatio(traceId, ratio)
}

/** Decides by the random digits of the trace id, so that all participants of a trace decide alike. */
function isInRatio(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-randomDigits), 16) / 16 ** randomDigits >= 1 - ratio
}

const randomDigits = 13
