import { z } from 'zod'
import type { EgressRequest } from '../../platform/http/egress-client.ts'
import { version } from '../../platform/version.ts'
import type { GenerationEvent } from './event.ts'

/** A kind of service that finished calls are exported to: data and pure functions. Nothing is sent from here. */
export interface Destination {
  /** The `type` of its records. */
  type: string
  /** All of `config`, `headers` included. */
  config: z.ZodObject
  /** Fields of `config` that are encrypted. The values of `headers` always are. */
  secrets: readonly string[]
  /** The field of `config` with its address. */
  address: string | null
  /** The URL that exports are sent to: the only origin its secrets may be sent to. Null: not configured yet. */
  target(config: DestinationConfig): string | null
  /** A request that tests the address and the credentials. */
  probe(config: DestinationConfig, target: string): Promise<Probe>
  /** Sends events in the format of the destination. */
  exporter: Exporter
}

/** The wire format of a destination. */
export interface Exporter<Config = DestinationConfig> {
  /** The most events of one request. */
  maxEvents: number
  /** The most bytes of the events of one request, before they are encoded. */
  maxBytes: number
  /**
   * One request for all of the events. It must be the same whenever it is repeated, except for signatures. The custom
   * headers of the config are added to it.
   */
  encode(
    config: Config,
    target: string,
    events: readonly GenerationEvent[],
    now: number,
  ): EgressRequest | Promise<EgressRequest>
  /**
   * Finds what a successful response says against the events; undefined if it accepts all of them. A body that cannot
   * be read may throw.
   */
  findRejection?(body: Uint8Array): Promise<string | undefined>
  /** Finds a failure of the destination in a response of any status; the events are sent again later. */
  findFailure?(status: number, body: string): string | undefined
}

export type DestinationConfig = Record<string, unknown> & { headers?: Record<string, string> }

export interface Probe {
  request: EgressRequest
  /** Further status codes that mean success, because the request is empty on purpose. */
  accepted?: number[]
}

interface DestinationDefinition<S extends z.ZodRawShape> {
  type: string
  fields: S
  secrets: (keyof S & string)[]
  address?: keyof S & string
  target(config: z.output<z.ZodObject<S>>): string | null
  probe(config: z.output<z.ZodObject<S>>, target: string): Probe | Promise<Probe>
  exporter: Exporter<z.output<z.ZodObject<S>>>
}

export function defineDestination<S extends z.ZodRawShape>(
  definition: DestinationDefinition<S>,
): Destination {
  const { type, fields, secrets, address = null, target } = definition
  const config = z.strictObject({ ...fields, headers: headerMap.optional() })
  const probe = async (values: z.output<z.ZodObject<S>>, to: string) =>
    markAsTest(await definition.probe(values, to), values as DestinationConfig)
  const exporter = withCustomHeaders(definition.exporter)
  // A record's config was parsed with this schema, so the types hold.
  return { type, config, secrets, address, target, probe, exporter } as unknown as Destination
}

function markAsTest({ request, accepted }: Probe, config: DestinationConfig): Probe {
  const { headers, ...rest } = addCustomHeaders(request, config)
  return {
    request: { ...rest, headers: { ...headers, 'x-test-connection': 'true' } },
    ...(accepted && { accepted }),
  }
}

function withCustomHeaders<Config>(exporter: Exporter<Config>): Exporter<Config> {
  return {
    ...exporter,
    encode: async (config, target, events, now) =>
      addCustomHeaders(await exporter.encode(config, target, events, now), config as DestinationConfig),
  }
}

/** Custom headers do not override those that authenticate. */
function addCustomHeaders(request: EgressRequest, config: DestinationConfig): EgressRequest {
  const custom = Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  const headers = {
    'user-agent': `headgate/${version}`,
    ...Object.fromEntries(custom),
    ...request.headers,
  }
  return { ...request, headers }
}

const printablePattern = /^[\x20-\x7e]+$/

/** Printable, because many of these values are sent in headers. */
export const textField = z
  .string()
  .trim()
  .min(1)
  .max(1024)
  .regex(printablePattern, 'must be printable ASCII characters')

export const secretField = z
  .string()
  .trim()
  .min(1)
  .max(8192)
  .regex(printablePattern, 'must be printable ASCII characters')
  .describe('Secret: encrypted when stored, masked when returned')

export const urlField = z.string().trim().min(1).max(2048).describe('An https URL').meta({ format: 'uri' })

/** Set by the connection: a custom value would change the framing of the message. */
const transportHeaders =
  /^(?:host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i

const headerName = z
  .string()
  .max(128)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not the name of a header')
  .refine((name) => !transportHeaders.test(name), 'is a header that cannot be set')

const headerMap = z
  .record(
    headerName,
    z
      .string()
      .max(8192)
      .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII characters'),
  )
  .refine((headers) => Object.keys(headers).length <= 50, 'must not have more than 50 headers')
  .refine((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase())
    return new Set(names).size === names.length
  }, 'has the same header twice')
  .meta({ override: { maxProperties: 50 } })
  .describe('Custom HTTP headers. Their values are secret: encrypted when stored, masked when returned')

/** Appends a path to a base URL, which may have a path already. An invalid URL is returned as is and rejected later. */
export function appendPath(base: string, path: string): string {
  const url = URL.parse(base)
  if (url === null) return base
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  return url.href
}

export function formatBasicAuth(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

export function buildJsonPost(url: string, headers: Record<string, string>, body: unknown): EgressRequest {
  return {
    url,
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}
