import type { JsonObject } from '../platform/json/json-values.ts'
import type { PartDelta } from './call/event.ts'
import type { OutputPart } from './call/part.ts'

/** Receives the parts of a reply. `start` returns the index of the part. */
export interface PartSink {
  start(content: OutputPart): number
  delta(part: number, delta: PartDelta): void
  end(part: number): void
}

/** A content block of a reply before its stop event. */
export interface OpenBlock {
  add(delta: JsonObject): void
  close(): void
}
