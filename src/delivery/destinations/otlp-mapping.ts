import type { GenerationEvent } from './event.ts'
import type { SpanContent } from './otlp-content.ts'

/** Undefined values are left out. */
export type SpanAttributes = Record<string, string | number | boolean | string[] | undefined>

export type OtlpProtocol = 'json' | 'protobuf'

/** Attributes for a product besides the conventions of OpenTelemetry, which all products receive. */
export interface SpanMapping {
  /** Attributes of the span of the request. */
  attributes?(event: GenerationEvent): SpanAttributes
  /** Replaces the messages in the form of the conventions. */
  content?(content: SpanContent): SpanAttributes
  /** The messages are attributes of an event of the span, instead of the span. */
  hasContentEvent?: boolean
  /** Attributes of the spans below it: stages and attempts. */
  childAttributes?: SpanAttributes
  /** The most bytes of a string, as JSON. */
  maxValueBytes?: number
  /** The most bytes of the input, and of the output, as JSON; older messages are left out. */
  maxContentBytes?: number
}
