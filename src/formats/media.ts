import type { ImageCapabilities, SpeechCapabilities } from '../catalog/model.ts'
import type { FormField } from '../platform/http/form-encode.ts'
import type { JsonObject } from '../platform/json/json-values.ts'
import type { UpstreamFailure } from './call/failure.ts'
import type { BilledUnits } from './call/units.ts'
import type { Usage, UsageCost } from './call/usage.ts'
import type { ServedTier, WireFormatName } from './vocabulary.ts'
import type { WireFormatDefaults } from './wire-format.ts'

/** A wire format of upstreams for a task other than text. `Call` is the internal form of a request. */
export interface MediaWireFormat<Call> {
  name: WireFormatName
  defaults: Pick<WireFormatDefaults, 'headers' | 'keyHeader' | 'keyScheme'>
  encodeRequest(call: Call, target: MediaTarget): MediaUpstreamRequest
  /** Decodes the body of a response with a status of 400 or more. */
  decodeError(status: number, body: unknown): UpstreamFailure
}

/** A format whose replies are one JSON object. */
export interface JsonMediaWireFormat<Call, Reply> extends MediaWireFormat<Call> {
  /** Null if the body is not a reply of this format. */
  decodeReply(body: JsonObject, call: Call): Reply | null
}

/** The properties of the endpoint that a request depends on. */
export interface MediaTarget {
  /** The upstream's name for the model. */
  model: string
  /** Options that the client sends to this provider alone, under `provider.options`. */
  options: JsonObject
  /** The capabilities of an endpoint for images. */
  image?: ImageCapabilities | null
  /** The capabilities of an endpoint for speech. */
  speech?: SpeechCapabilities | null
}

export interface MediaUpstreamRequest {
  /** The path after the base URL, such as `/embeddings`. */
  path: string
  headers: Readonly<Record<string, string>>
  /** JSON, the fields of a form, or bytes whose type is in `headers`. */
  body: JsonObject | FormField[] | Uint8Array<ArrayBuffer>
  /** Requested fields this body cannot express, by their names in `x-headgate-dropped`. */
  dropped: string[]
}

/** Facts that every reply reports, whatever it consists of. */
export interface MediaReply {
  /** Null if the upstream reports no tokens: they are estimated from the prompt. */
  usage: Usage | null
  /** Quantities that may be billed by another unit; those that the endpoint has no price for are not billed. */
  units: readonly BilledUnits[]
  tier?: ServedTier | null
  /** The words of the reply, for the content log; absent if it is vectors, scores or binary data alone. */
  text?: string
}

/** Facts about the generation that a reply to a client includes. */
export interface MediaReplyContext {
  /** The id of the generation, `gen-...`. */
  id: string
  /** Unix seconds. */
  created: number
  /** Slug of the model that served the request. */
  model: string
  /** Display name of the provider that served the request. */
  provider: string
  usage: Usage
  cost: UsageCost
  /** The routing metadata, if the client requested it. */
  metadata: JsonObject | null
}
