import type { z } from 'zod'
import { asString } from '../../platform/json/json-values.ts'
import { type Destination, defineDestination, type Exporter } from './destination.ts'
import type { OtlpProtocol, SpanAttributes, SpanMapping } from './otlp-mapping.ts'

interface OtlpDefinition<S extends z.ZodRawShape> {
  type: string
  fields: S
  secrets?: (keyof S & string)[]
  address?: keyof S & string
  target(config: z.output<z.ZodObject<S>>): string | null
  /** Headers that authenticate, and others that the product requires. */
  headers?(config: z.output<z.ZodObject<S>>): Record<string, string>
  protocol(config: z.output<z.ZodObject<S>>): OtlpProtocol
  method?(config: z.output<z.ZodObject<S>>): 'POST' | 'PUT'
  resource?(config: z.output<z.ZodObject<S>>): SpanAttributes
  mapping?: SpanMapping
  /** Whether input and output are an event of the span, instead of attributes. */
  hasContentEvent?(config: z.output<z.ZodObject<S>>): boolean
  /** Further headers that depend on the body. */
  sign?(config: z.output<z.ZodObject<S>>, message: SignedMessage): Record<string, string>
  maxEvents?: number
}

export interface SignedMessage {
  id: string
  /** Milliseconds since the epoch. */
  sentAt: number
  body: Uint8Array
}

/** Encoded, a batch of this size is far below the limits of the products. */
const maxBatchBytes = 1024 * 1024
const maxBatchEvents = 64

const contentTypes: Record<OtlpProtocol, string> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
}

/** An export without spans. As protobuf it has no bytes at all. */
const emptyExports: Record<OtlpProtocol, Uint8Array> = {
  json: new TextEncoder().encode('{"resourceSpans":[]}'),
  protobuf: new Uint8Array(),
}

/** Receivers of OTLP over HTTP differ in address, headers and the attributes they read. */
export function defineOtlpDestination<S extends z.ZodRawShape>(definition: OtlpDefinition<S>): Destination {
  type Config = z.output<z.ZodObject<S>>
  const { type, fields, secrets = [], address, target, protocol, resource, mapping = {} } = definition
  const buildRequest = (config: Config, url: string, message: SignedMessage) => ({
    url,
    method: definition.method?.(config) ?? ('POST' as const),
    headers: {
      ...definition.headers?.(config),
      ...definition.sign?.(config, message),
      'content-type': contentTypes[protocol(config)],
    },
    body: message.body,
  })
  const exporter: Exporter<Config> = {
    maxEvents: definition.maxEvents ?? maxBatchEvents,
    maxBytes: maxBatchBytes,
    encode: async (config, url, events, now) => {
      // 30 MB of memory that most installations never need.
      const { encodeSpans } = await import('./otlp-encode.ts')
      const hasContentEvent = definition.hasContentEvent?.(config) ?? false
      const ownMapping = hasContentEvent ? { ...mapping, hasContentEvent } : mapping
      const body = await encodeSpans(events, protocol(config), ownMapping, resource?.(config) ?? {})
      return buildRequest(config, url, { id: events.map(({ id }) => id).join(','), sentAt: now, body })
    },
    findRejection: findPartialRejection,
  }
  return defineDestination({
    type,
    fields,
    secrets,
    ...(address !== undefined && { address }),
    target,
    probe: (config, url) => ({
      request: buildRequest(config, url, {
        id: 'connection-test',
        sentAt: Date.now(),
        body: emptyExports[protocol(config)],
      }),
      // Some reject an export without spans, but only after authenticating it.
      accepted: [400],
    }),
    exporter,
  })
}

const maxMessageLength = 200

/** The `partial_success` of an export response, as JSON or as protobuf; a body that is neither says nothing. */
export async function findPartialRejection(body: Uint8Array): Promise<string | undefined> {
  const { JsonTraceSerializer, ProtobufTraceSerializer } = await import('@opentelemetry/otlp-transformer')
  const { partialSuccess } = (
    body[0] === openingBrace ? JsonTraceSerializer : ProtobufTraceSerializer
  ).deserializeResponse(body)
  // A 64-bit integer is a string in the JSON of protobuf.
  if (!(Number(partialSuccess?.rejectedSpans ?? 0) > 0)) return undefined
  const message = asString(partialSuccess?.errorMessage) ?? ''
  const printable = message.replace(/[\p{C}\uFFFD]+/gu, ' ').trim()
  return `Spans were rejected${printable === '' ? '.' : `: ${printable.slice(0, maxMessageLength)}`}`
}

const openingBrace = '{'.charCodeAt(0)
