import type { JsonObject } from '../../platform/json/json-values.ts'
import type { WireFormatName } from '../vocabulary.ts'

/** Cache the prompt up to and including the part that carries it. */
export interface CacheBreakpoint {
  ttl?: '5m' | '1h'
}

/** A part of a prompt. */
export type InputPart = TextPart | ImagePart | FilePart | AudioPart | VideoPart | ToolResultPart | OpaquePart

/** A part of a reply. */
export type OutputPart =
  | TextPart
  | RefusalPart
  | ReasoningPart
  | ToolCallPart
  | ImagePart
  | AudioPart
  | ServerToolPart
  | OpaquePart

export interface TextPart {
  kind: 'text'
  text: string
  cache?: CacheBreakpoint
  citations?: Citation[]
  logprobs?: TokenLogprob[]
}

export interface RefusalPart {
  kind: 'refusal'
  text: string
}

export interface ImagePart {
  kind: 'image'
  source: MediaSource
  detail?: string
  cache?: CacheBreakpoint
}

export interface FilePart {
  kind: 'file'
  source: MediaSource
  filename?: string
  /** The name for formats that need one, if the client gave none. */
  fallbackName?: string
  /** Background about the document that must not be cited. */
  context?: string
  /** The model should cite it. */
  citationsEnabled?: boolean
  cache?: CacheBreakpoint
}

export interface AudioPart {
  kind: 'audio'
  /** Base64. */
  data: string
  /** `wav`, `mp3`, `pcm16` ... */
  format: string
  /** The transcript of generated audio. */
  transcript?: string
  id?: string
  expiresAt?: number
}

export interface VideoPart {
  kind: 'video'
  source: MediaSource
}

/** The source of an image, file or video. */
export type MediaSource =
  | { kind: 'url'; url: string }
  | { kind: 'data'; mediaType: string; data: string }
  | { kind: 'file'; id: string }
  | { kind: 'text'; text: string }

/** An http(s) URL can be fetched by any vendor; any other scheme (`gs://`) is a file handle of one vendor. */
export function sourceFromUrl(url: string): MediaSource {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) && !/^https?:/i.test(url)
    ? { kind: 'file', id: url }
    : { kind: 'url', url }
}

/** A file handle in the form of a URI, which a file store with plain ids cannot resolve. */
export function isVendorFileUri(source: MediaSource): boolean {
  return source.kind === 'file' && (source.id.includes('://') || source.id.startsWith('files/'))
}

export interface ToolCallPart {
  kind: 'tool-call'
  id: string
  /** Flat: see `flattenToolName`. */
  name: string
  /** The namespace that the vendor's tool search loaded the tool from. */
  namespace?: string
  /** The model's exact text: usually JSON, not always valid; free text when `custom`. */
  arguments: string
  custom?: boolean
  /** The gateway ran it in an earlier reply; `name` is that of the tool, and not always that of its function. */
  isServerTool?: true
  cache?: CacheBreakpoint
}

export interface ToolResultPart {
  kind: 'tool-result'
  id: string
  /** The tool's name, if the client's format carries it. */
  name?: string
  /** Passed on unmodified. */
  content: (TextPart | ImagePart | FilePart | OpaquePart)[]
  isError?: boolean
  custom?: boolean
  cache?: CacheBreakpoint
}

/** Names of events of the Responses format without `response.`, such as `web_search_call.searching`. */
export interface ToolProgress {
  /** Events at the beginning of the call. */
  start: readonly string[]
  /** The event after success. */
  completed: string
  /** The event after failure, if the format has one. */
  failed?: string
}

/** A tool that the gateway ran while it replied. It is sent to the client, and to no upstream. */
export interface ServerToolPart {
  kind: 'server-tool'
  /** The id of the call. */
  id: string
  /** The tool, such as `web_search`. */
  tool: string
  /** JSON text. */
  arguments: string
  /** The item of the tool in the Responses format, without an id. */
  item: JsonObject
  /** Fields of its block in the Messages format that differ from those of other server tools. */
  use?: JsonObject
  /** The events of its item in the Responses format. */
  progress?: ToolProgress
  /** The text the model was given, once it has ended. */
  result?: string
  isError?: boolean
  /** The result block in the Messages format, without `tool_use_id`, if that format has one for the tool. */
  block?: JsonObject
}

/**
 * Reasoning, visible or encrypted. `signature` and `encrypted` are returned unmodified to the vendor of
 * `format`, and to no other vendor. A part without text, directly before another part, belongs to that part.
 */
export interface ReasoningPart {
  kind: 'reasoning'
  /** The vendor's item id; for `vendor_c-v1` the id of the tool call it belongs to. */
  id?: string
  text: string
  /** Summaries of hidden reasoning, one per section. */
  summary: string[]
  signature?: string
  encrypted?: string
  format: ReasoningFormat
}

/** The vendor format of a signature. `unknown`: readable text without a signature. */
export const reasoningFormats = [
  'unknown',
  'vendor_b-responses-v1',
  'azure-vendor_b-responses-v1',
  'bedrock-vendor_b-responses-v1',
  'vendor_d-responses-v1',
  'bedrock-vendor_d-responses-v1',
  'meta-responses-v1',
  'vendor_a-v1',
  'vendor_c-v1',
] as const
export type ReasoningFormat = (typeof reasoningFormats)[number]

/** A block that only one wire format can express: server tools, compaction, types newer than this gateway. */
export interface OpaquePart {
  kind: 'opaque'
  wireFormat: WireFormatName
  value: JsonObject
}

export interface Citation {
  url?: string
  title?: string
  /** The cited text of the source. */
  citedText?: string
  /** A source that is a file, which has no URL. */
  file?: { id?: string; name?: string; container?: string }
  /** Character offsets in the text part that carries it. */
  start?: number
  end?: number
  /** The citation in the form of its own wire format. */
  native?: { wireFormat: WireFormatName; value: JsonObject }
}

export interface TokenLogprob {
  token: string
  logprob: number
  bytes: number[] | null
  top: { token: string; logprob: number; bytes: number[] | null }[]
}
