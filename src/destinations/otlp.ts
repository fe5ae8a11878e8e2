import type { z } from 'zod'
import { asObject, asString } from '../lib/json-values.ts'
import { type Destination, defineDestination, type Exporter } from './destination.ts'
import type { OtlpProtocol, SpanAttributes, SpanMapping } from './otlp-mapping.ts'

interface OtlpDefinition<S extends z.ZodRawShape> {
  type: string
  fields: S
  secrets?: (keyof S & string)[]
  address?: keyof S & string
  target(config: z.output<z.ZodObject<S>>): string | null
  /** Those that authenticate, and others that the product requires. */
  headers?(config: z.output<z.ZodObject<S>>): Record<string, string>
  protocol(config: z.output<z.ZodObject<S>>): OtlpProtocol
  method?(config: z.output<z.ZodObject<S>>): 'POST' | 'PUT'
  resource?(config: z.output<z.ZodObject<S>>): SpanAttributes
  mapping?: SpanMapping
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
      const body = await encodeSpans(events, protocol(config), mapping, resource?.(config) ?? {})
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

/** The `partial_success` of an export response, as JSON or as protobuf. */
export function findPartialRejection(body: string): string | undefined {
  const rejection = body.trimStart().startsWith('{') ? readJsonRejection(body) : readProtobufRejection(body)
  if (rejection === undefined) return undefined
  const printable = rejection.replace(/[\p{C}\uFFFD]+/gu, ' ').trim()
  return `Spans were rejected${printable === '' ? '.' : `: ${printable.slice(0, maxMessageLength)}`}`
}

function readJsonRejection(body: string): string | undefined {
  let response: unknown
  try {
    response = JSON.parse(body)
  } catch {
    return undefined
  }
  const partial = asObject(asObject(response)?.partialSuccess)
  // A 64-bit integer is a string in the JSON of protobuf.
  return Number(partial?.rejectedSpans ?? 0) > 0 ? (asString(partial?.errorMessage) ?? '') : undefined
}

/** A varint of protobuf, after decoding it as UTF-8: its bytes above 127 have become other characters. */
const varint = '(?:[^\\0-\\x7f]+[\\x01-\\x7f]|[\\0-\\x7f])'
/** `partial_success`, its length, `rejected_spans` that is not zero, and perhaps `error_message`. */
const rejectionPattern = new RegExp(`^\\n${varint}\\x08(?!\\0)${varint}(?:\\x12${varint}([^]*))?`)

function readProtobufRejection(body: string): string | undefined {
  const match = rejectionPattern.exec(body)
  return match === null ? undefined : (match[1] ?? '')
}
