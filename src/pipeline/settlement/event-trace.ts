import type { EventTrace } from '../../destinations/event.ts'
import { sha256 } from '../../lib/crypto.ts'

/** The trace of a generation; the same whenever it is built. */
export function buildTrace(generationId: string): EventTrace {
  const digits = sha256(generationId)
  return {
    traceId: digits.slice(0, 32),
    spanId: digits.slice(32, 48),
    parentSpanId: null,
    traceName: null,
    spanName: null,
    generationName: null,
    metadata: {},
    spans: [],
  }
}
