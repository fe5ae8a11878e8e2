import type { JsonObject } from '../../platform/json/json-values.ts'
import type { WireFormatName } from '../vocabulary.ts'
import type { CacheBreakpoint, InputPart, OutputPart } from './part.ts'

/**
 * A request to a model in the gateway's internal form. Wire formats decode it from a client's body and encode it
 * into an upstream's. An absent field was not requested: no default is sent in its place.
 */
export interface ModelCall {
  messages: Message[]
  stream: boolean
  tools?: Tool[]
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  maxTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  minP?: number
  topA?: number
  frequencyPenalty?: number
  presencePenalty?: number
  repetitionPenalty?: number
  seed?: number
  stop?: string[]
  logitBias?: Record<string, number>
  logprobs?: boolean
  topLogprobs?: number
  /** Number of choices. */
  n?: number
  format?: ResponseFormat
  reasoning?: ReasoningOptions
  verbosity?: string
  /** Output modalities: text, image, audio. */
  modalities?: string[]
  audio?: { voice?: unknown; format?: string }
  imageConfig?: JsonObject
  /** Predicted output, which speeds up small edits. */
  prediction?: string
  /** Cache the prompt up to its last cacheable block. */
  cache?: CacheBreakpoint
  promptCacheKey?: string
  serviceTier?: string
  /** The client's identifier of its end user. */
  user?: string
  metadata?: Record<string, string>
  /** Body fields outside this form; they reach only upstreams of the client's own wire format. */
  unknown: string[]
}

export interface Message {
  /** Tool results are parts of user messages. */
  role: 'system' | 'developer' | 'user' | 'assistant'
  parts: (InputPart | OutputPart)[]
  name?: string
}

export type Tool = FunctionTool | CustomTool | NativeTool

export interface FunctionTool {
  kind: 'function'
  name: string
  /** The namespace it is declared in. Formats without namespaces use `flattenToolName`. */
  namespace?: string
  description?: string
  /** JSON Schema of the arguments, passed unmodified. */
  schema?: JsonObject
  strict?: boolean
  cache?: CacheBreakpoint
  deferLoading?: boolean
}

/** Takes free text instead of JSON arguments. */
export interface CustomTool {
  kind: 'custom'
  name: string
  namespace?: string
  description?: string
  /** The client's value: `{type: 'text'}` or a grammar. */
  format?: JsonObject
}

/** A tool the vendor runs itself, which only one wire format can express. */
export interface NativeTool {
  kind: 'native'
  wireFormat: WireFormatName
  type: string
  value: JsonObject
}

export type ToolChoice =
  | { kind: 'auto' | 'none' | 'required' }
  | { kind: 'tool'; name: string }
  | { kind: 'allowed'; required: boolean; names: string[] }
  | { kind: 'native'; wireFormat: WireFormatName; value: JsonObject }

export type ResponseFormat =
  | { kind: 'text' | 'json' | 'python' }
  | { kind: 'schema'; name?: string; schema: JsonObject; strict?: boolean; description?: string }
  | { kind: 'grammar'; grammar: string }

export type Effort = 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none'

/** The amount of reasoning, and how much of it to return. reasoning.ts converts between effort and budget. */
export interface ReasoningOptions {
  effort?: Effort
  /** A budget in tokens. */
  maxTokens?: number
  enabled?: boolean
  /** The model decides how much to reason. */
  adaptive?: boolean
  /** Reason, but leave the reasoning out of the reply. */
  exclude?: boolean
  summary?: string
}

/** A tool's name in formats without namespaces. Tool search returns a tool in a namespace of its own name. */
export function flattenToolName({ name, namespace }: FunctionTool | CustomTool): string {
  return namespace && namespace !== name ? `${namespace}__${name}` : name
}

/** The name of a called tool within its namespace. */
export function splitToolName({ name, namespace }: { name: string; namespace?: string }) {
  if (namespace === undefined) return { name }
  const prefix = `${namespace}__`
  return { name: name.startsWith(prefix) ? name.slice(prefix.length) : name, namespace }
}

/** Prefix of the types of tools that the gateway runs. They are sent to no upstream. */
export const serverToolPrefix = 'service:'

export function isServerToolType(type: string): boolean {
  return type.startsWith(serverToolPrefix)
}
