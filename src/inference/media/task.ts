import type { Endpoint, Model } from '../../catalog/model.ts'
import type { BodyFields } from '../../formats/call/body-texts.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { RequestSize } from '../../formats/call/size.ts'
import type { OpaqueKind } from '../../formats/call/texts.ts'
import type { MediaWireFormat } from '../../formats/media.ts'
import type { TaskName, WireFormatName } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { MediaFilter } from '../guard/media-filter.ts'
import type { IncomingRequest, RequestState } from '../request/inference-request.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'

/** The reason why an endpoint cannot serve a request. */
export interface FieldProblem {
  field: string
  /** Completes the sentence that begins with the field: `must be one of ...`. */
  problem: string
}

/** A task other than text: its wire formats, and how a reply is read. */
export interface MediaTask<Call, D extends MediaWireFormat<Call>, Reply> {
  name: Exclude<TaskName, 'text'>
  /** The fields of the client's body. */
  fields: BodyFields
  wireFormats: Readonly<Partial<Record<WireFormatName, D>>>
  /** Milliseconds until the reply of an attempt must be received; by default as long as for any whole reply. */
  timeoutMs?: number
  /** Whether providers bill what they were sent even if the connection closes: their replies are always received. */
  isBilledOnArrival?: true
  /** Finds what the endpoint does not support of the call; null if it supports everything. */
  findProblem?(call: Call, endpoint: Endpoint, model: Model): FieldProblem | null
  /** Completes an admitted call before it is sent: downloads what it refers to. Throws an error for the client. */
  prepare?(gateway: Gateway, call: Call): Promise<Call>
  /** The keys of `provider.options` that are forwarded to the endpoint; undefined: all. */
  listAllowedOptions?(endpoint: Endpoint): readonly string[] | undefined
  /** Reads the reply of an upstream, or its beginning if it is streamed. */
  receive(
    exchange: UpstreamExchange,
    upstream: UpstreamResponse,
    sent: { call: Call; wireFormat: D; endpoint: Endpoint },
    gateway: Gateway,
  ): Promise<Reply>
  /** The reply as the filters leave it; absent if it has no text, or is a stream, which does so itself. */
  filterReply?(reply: Reply, filter: MediaFilter): Promise<Reply>
  /** The reply of a provider that runs in this process; undefined for a provider on the network. */
  simulate(
    gateway: Gateway,
    exchange: UpstreamExchange,
    call: Call,
    endpoint: Endpoint,
  ): Promise<Reply> | undefined
}

/** The properties of a task that routing and translation read: nothing that sends a request. */
export type MediaSupport<Call, D extends MediaWireFormat<Call>> = Pick<
  MediaTask<Call, D, unknown>,
  'name' | 'fields' | 'wireFormats' | 'findProblem' | 'listAllowedOptions'
>

/** A body in the internal form. */
export interface DecodedMedia<Call> {
  /** The body for records: without recordings. */
  body: JsonObject
  call: Call
  /** The text and media that the request consists of, as a prompt. */
  prompt: ModelCall
  /** Kinds of content that filters cannot read, besides the media of the prompt. */
  opaque?: readonly OpaqueKind[]
  /** The most that a provider can count for it. */
  size: RequestSize
}

/** A valid body as JSON in the client's format, without the bytes of uploaded files. */
export interface MediaBody<Call> {
  body: JsonObject
  /** Fields of the client's format that this body has no counterpart for; they are reported as dropped. */
  unknown?: readonly string[]
  /** Decodes this body, or one with other texts. */
  decode(body: JsonObject): DecodedMedia<Call>
}

/** A request whose body has been validated, but not decoded yet. */
export interface IncomingMedia<Call>
  extends Pick<
      IncomingRequest,
      'caller' | 'region' | 'httpRequest' | 'id' | 'outerFunds' | 'onSettled' | 'tags' | 'trace'
    >,
    MediaBody<Call> {}

export interface MediaRequest<Call> extends RequestState {
  /** The decoded request. */
  media: Call
  received: MediaBody<Call> & { fields: BodyFields; opaque: readonly OpaqueKind[] }
  /** The filter of the reply; null unless guardrails filter it. */
  replyFilter: MediaFilter | null
}
