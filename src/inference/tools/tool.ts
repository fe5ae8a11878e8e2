import type { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import type { SpanKind } from '../../delivery/destinations/event.ts'
import type { FunctionTool, ModelCall, NativeTool, Tool } from '../../formats/call/call.ts'
import type { GeneratedImage } from '../../formats/call/images.ts'
import type {
  Citation,
  FilePart,
  ImagePart,
  OutputPart,
  ServerToolPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../formats/call/part.ts'
import type { Usage } from '../../formats/call/usage.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { OpenSpan, SpanAttributes, SpanRecorder } from '../../platform/tracing/span-recorder.ts'

/** A tool that the gateway runs for the model. */
export interface ServerTool<Parameters = unknown> {
  /** The name in `tools`, where its type is `service:` and this name. */
  name: string
  /** Requests in other formats that name it are rejected. */
  formats: readonly ToolFormat[]
  /** Whether it reaches outside the region of a request: regional hosts reject it. */
  isGlobal?: true
  /** Whether preparing an entry sends requests to an address that the client names. */
  connectsFirst?: true
  parameters: z.ZodType<Parameters>
  /** Prepares an entry of `tools`. Errors are 400 and name the field. */
  create(parameters: Parameters, setup: ToolSetup): ToolInstance | Promise<ToolInstance>
}

/** Erases the type of the parameters, which only the tool itself reads. */
export function defineServerTool<Parameters>(tool: ServerTool<Parameters>): ServerTool {
  return tool
}

export type ToolFormat = 'chat' | 'messages' | 'responses'

/** The request that a tool is used in. */
export interface ToolRequest {
  gateway: Gateway
  /** The id of the generation. */
  id: string
  caller: Caller
  region: DataRegion
  keyContext: KeyContext
  sessionId: string | null
  format: ToolFormat
  /** The client's call, with its own tools and messages. */
  call: ModelCall
  /** The slug of the model that calls the tool. */
  model: string
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The recorder of the request; null if its spans are not read. */
  spans: SpanRecorder | null
  /** The headers of a request that continues the trace with this span; undefined if the trace is not propagated. */
  propagate(spanId?: string): Readonly<Record<string, string>> | undefined
}

export interface ToolSetup extends ToolRequest {
  /** The entry in `tools`, such as `tools[2]`, for errors. */
  at: string
  /** The entry as the client sent it. */
  entry: JsonObject
}

/** An entry of `tools`, ready to run. */
export interface ToolInstance {
  /** The functions that the model can call. */
  functions: FunctionTool[]
  /** Tools of the provider that replace it: nothing is left to run. */
  natives?: NativeTool[]
  /** Fields of the entry that have no effect, such as `tools[2].parameters.user_location`. */
  ignored?: readonly string[]
  /** The running call, as the client sees it. A status of the item is added where it has none. */
  describe(call: ToolCallPart): Pick<ServerToolPart, 'item' | 'progress' | 'use'>
  /** Highest cost of one call, as far as it is known before; held with the request where limits allow. */
  costs?: ToolCosts
  /** The span of a call, if the gateway sends it to a server of its own protocol. */
  describeSpan?(call: ToolCallPart): ToolSpan
  /** Time limit of a call in milliseconds; two minutes if absent. */
  timeoutMs?: number
  run?(call: ToolCallPart, run: ToolRun): Promise<ToolOutcome>
  /** Encodes a call for the client to run; used for every call if there is no `run`. */
  toClientCall?(call: ToolCallPart): OutputPart
  /** Whether the call is sent to the client, which decides about it, although the gateway could run it. */
  needsClient?(call: ToolCallPart): boolean
  /** The first parts of the reply. */
  opening?: readonly OutputPart[]
  /** The MCP server that it connects to. */
  server?: { label: string; functionOf(tool: string): string | undefined }
  /** Called after the request has ended. */
  close?(): void
  /** Selects those of the tools of the client that the next turn includes. */
  selectTools?(tools: readonly Tool[]): Tool[]
  /** A call or a result that the client has sent back as an item of its own; null for any other item. */
  restoreItem?(item: JsonObject, functionName: string): ToolCallPart | ToolResultPart | null
}

export interface ToolSpan {
  /** The name of the tool at its server. */
  tool: string
  kind: SpanKind
  attributes: SpanAttributes
}

/** The costs of a call. */
export interface ToolCosts {
  fee?: bigint
  /** Requests to models. Without a model, to that of the request. */
  calls?: readonly { model?: string | undefined; maxTokens?: number | undefined }[]
  /** The fields of a request for an image. */
  image?: JsonObject
}

/** The context of a running call. */
export interface ToolRun extends ToolRequest, NestedRequests {
  /** The arguments, parsed; `{}` if they are not an object. */
  input: JsonObject
  /** The span of the call; null if it is not read. */
  span: OpenSpan | null
  /** Aborted when the request ends. */
  signal: AbortSignal
  /** Messages of the conversation so far, for tools that forward them. */
  conversation: ModelCall['messages']
  /** Holds the most that a paid call may cost, before it is made; throws the error of the limit it exceeds. */
  reserve(nanos: bigint): Promise<void>
  /** Progress for the client, in the form of the events of the Responses format, without `response.`. */
  progress(event: JsonObject): void
}

/** Requests on behalf of another request, with the same key; each has its own record and charge. */
export interface NestedRequests {
  callModel: CallModelFn
  generateImage: GenerateImageFn
}

export interface ToolOutcome {
  /** The result for the model. The guardrails filter it. */
  content: (TextPart | ImagePart | FilePart)[]
  isError?: boolean
  /** The kind of the error in traces, such as `timeout`; that of an error which the tool reports if absent. */
  errorType?: string
  /** Fields that are known now of the client's item in the Responses format. */
  item: JsonObject
  /** The client's result block in the Messages format, without `tool_use_id`, if it has one of its own. */
  block?: JsonObject
  /** Sources, which the reply cites. */
  citations?: Citation[]
  /** Parts that the client receives as they are, such as a generated image. */
  parts?: OutputPart[]
  fees?: ToolFee[]
  /** Searches it made, for the usage of the reply. */
  webSearches?: number
  /** Pages it read, for the usage of the reply. */
  webFetches?: number
}

/** A fixed price besides tokens, such as that of a search. */
export interface ToolFee {
  /** The service that the fee is for, such as `exa` or `container`. */
  name: string
  /** Results of a search, pages, or seconds of a container. */
  quantity: number
  nanos: bigint
}

export type CallModelFn = (request: NestedModelRequest) => Promise<NestedModelReply>

/** A request to a model on behalf of another request. */
export interface NestedModelRequest {
  model: string
  call: ModelCall
  /** Entries of `tools` that the gateway runs in it. */
  tools?: JsonObject[]
  maxToolCalls?: number
  /** The name in the bill of the outer request, such as `advisor`. */
  purpose: string
  signal: AbortSignal
  /** The span that the request is a part of; by default, the stage in progress. */
  parent?: OpenSpan
  onText?: (delta: string) => void
  onReasoning?: (delta: string) => void
}

export interface NestedModelReply {
  /** The id of its generation. */
  id: string
  model: string
  provider: string
  parts: OutputPart[]
  finishReason: string | null
  usage: Usage
  costNanos: bigint
}

export type GenerateImageFn = (request: NestedImageRequest) => Promise<NestedImageReply>

/** A request for one image on behalf of another request. */
export interface NestedImageRequest {
  /** Fields of a request for images, with model and prompt. */
  fields: JsonObject
  signal: AbortSignal
  /** The span that the request is a part of; by default, the stage in progress. */
  parent?: OpenSpan
}

export interface NestedImageReply {
  /** The id of its generation. */
  id: string
  model: string
  image: GeneratedImage
}
