import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asNumber, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { FunctionTool, Message, ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import type { ImagePart, InputPart, OutputPart, ToolCallPart, ToolResultPart } from '../call/part.ts'
import { isEffort } from '../call/reasoning.ts'
import { decodeSampling, gatewayFields } from '../chat/request-decode.ts'
import { OpenCalls } from '../open-calls.ts'
import { ToolResults } from '../tool-results.ts'

const knownFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'system', 'suffix', 'images', 'tools', 'stream', 'format', 'think'],
  ...['options', 'keep_alive', 'logprobs', 'top_logprobs', 'raw'],
])

/** Fields of `decodeSampling` by option name. */
const samplingFields: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  seed: 'seed',
  stop: 'stop',
  num_predict: 'max_tokens',
  repeat_penalty: 'repetition_penalty',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
}

/** Options of a local runtime, which have no effect on a hosted model. */
const runtimeOptions: ReadonlySet<string> = new Set([
  ...['numa', 'num_ctx', 'num_batch', 'num_gpu', 'main_gpu', 'low_vram', 'f16_kv', 'logits_all'],
  ...['vocab_only', 'use_mmap', 'use_mlock', 'embedding_only', 'num_thread', 'num_keep'],
])

export function decodeChat(body: JsonObject): ModelCall {
  const call = decodeCommonFields(body, decodeMessages(asObjects(body.messages)))
  const tools = asObjects(body.tools).map(decodeTool)
  return tools.length > 0 ? { ...call, tools } : call
}

export function decodeGenerate(body: JsonObject): ModelCall {
  // Ignoring it would change what the model generates.
  if (asString(body.suffix)) throw invalidFieldError('suffix', 'is not supported')
  const [system, prompt] = [asString(body.system), asString(body.prompt) ?? '']
  const parts: InputPart[] = [{ kind: 'text', text: prompt }, ...decodeImages(body.images)]
  const instruction: Message[] = system ? [{ role: 'system', parts: [{ kind: 'text', text: system }] }] : []
  return decodeCommonFields(body, [...instruction, { role: 'user', parts }])
}

function decodeCommonFields(body: JsonObject, messages: Message[]): ModelCall {
  const options = asObject(body.options) ?? {}
  const call: ModelCall = {
    messages,
    stream: body.stream !== false,
    unknown: listUnknownFields(body, options),
  }
  decodeSampling(mapSampling(options), call)
  if (body.logprobs === true) call.logprobs = true
  const topLogprobs = asNumber(body.top_logprobs)
  if (topLogprobs !== undefined && topLogprobs > 0) call.topLogprobs = topLogprobs
  const format = decodeFormat(body.format)
  if (format) call.format = format
  const reasoning = decodeReasoning(body.think)
  if (reasoning) call.reasoning = reasoning
  return call
}

function mapSampling(options: JsonObject): JsonObject {
  const sampling: JsonObject = {}
  for (const [name, value] of Object.entries(options)) {
    const field = samplingFields[name]
    if (field !== undefined) sampling[field] = value
  }
  // Values below 1 mean no limit.
  if ((asNumber(sampling.max_tokens) ?? 1) < 1) delete sampling.max_tokens
  return sampling
}

function listUnknownFields(body: JsonObject, options: JsonObject): string[] {
  const isPresent = (value: unknown) => value !== undefined && value !== null
  const fields = Object.keys(body).filter(
    (name) => !knownFields.has(name) && !gatewayFields.has(name) && isPresent(body[name]),
  )
  const unknown = Object.keys(options).filter(
    (name) => !(name in samplingFields) && !runtimeOptions.has(name) && isPresent(options[name]),
  )
  return [...fields, ...unknown.map((name) => `options.${name}`)]
}

function decodeFormat(format: unknown): ResponseFormat | undefined {
  if (format === 'json') return { kind: 'json' }
  const schema = asObject(format)
  return schema && { kind: 'schema', schema }
}

function decodeReasoning(think: unknown): ReasoningOptions | undefined {
  if (typeof think === 'boolean') return { enabled: think }
  return isEffort(think) ? { effort: think } : undefined
}

function decodeTool(tool: JsonObject): FunctionTool {
  const functionBody = asObject(tool.function) ?? {}
  const [description, schema] = [asString(functionBody.description), asObject(functionBody.parameters)]
  return {
    kind: 'function',
    name: asString(functionBody.name) ?? '',
    ...(description !== undefined && { description }),
    ...(schema && { schema }),
  }
}

function decodeMessages(wireMessages: JsonObject[]): Message[] {
  const messages: Message[] = []
  /** Tool calls without a result: most clients send results without the id of the call. */
  let openToolCalls = new OpenCalls<ToolCallPart>()
  const toolResults = new ToolResults(messages)
  wireMessages.forEach((message, messageIndex) => {
    if (message.role === 'tool') {
      const toolCall = findToolCall(message, openToolCalls)
      if (toolCall) openToolCalls.close(toolCall)
      const id = toolCall?.id ?? asString(message.tool_call_id) ?? `call_${messageIndex}`
      toolResults.add(decodeToolResult(message, id))
      return
    }
    if (message.role !== 'assistant') {
      const parts = [...decodeText(message), ...decodeImages(message.images)]
      messages.push({ role: message.role === 'system' ? 'system' : 'user', parts })
      return
    }
    const toolCalls = asObjects(message.tool_calls).map((call, index) =>
      decodeToolCall(call, `call_${messageIndex}_${index}`),
    )
    openToolCalls = new OpenCalls()
    for (const call of toolCalls) openToolCalls.add(call, ['any', `id ${call.id}`, `name ${call.name}`])
    messages.push({
      role: 'assistant',
      parts: [...decodeThinking(message), ...decodeText(message), ...toolCalls],
    })
  })
  return messages
}

function findToolCall(message: JsonObject, openToolCalls: OpenCalls<ToolCallPart>): ToolCallPart | undefined {
  const [id, name] = [asString(message.tool_call_id), asString(message.tool_name) ?? asString(message.name)]
  if (id !== undefined) return openToolCalls.first(`id ${id}`)
  return openToolCalls.first(name === undefined ? 'any' : `name ${name}`)
}

function decodeToolResult(message: JsonObject, id: string): ToolResultPart {
  const name = asString(message.tool_name)
  const content = [{ kind: 'text' as const, text: asString(message.content) ?? '' }]
  return { kind: 'tool-result', id, content, ...(name !== undefined && { name }) }
}

function decodeText({ content }: JsonObject): { kind: 'text'; text: string }[] {
  const text = asString(content)
  return text ? [{ kind: 'text', text }] : []
}

function decodeThinking({ thinking }: JsonObject): OutputPart[] {
  const text = asString(thinking)
  return text ? [{ kind: 'reasoning', text, summary: [], format: 'unknown' }] : []
}

function decodeToolCall(toolCall: JsonObject, fallbackId: string): ToolCallPart {
  const functionBody = asObject(toolCall.function) ?? {}
  const rawArguments = functionBody.arguments ?? {}
  return {
    kind: 'tool-call',
    id: asString(toolCall.id) || fallbackId,
    name: asString(functionBody.name) ?? '',
    arguments: typeof rawArguments === 'string' ? rawArguments : JSON.stringify(rawArguments),
  }
}

/** Detects the media type, which the format does not carry, by the first characters of the base64. */
const imagePrefixes: [string, string][] = [
  ['iVBOR', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

function decodeImages(images: unknown): ImagePart[] {
  const encodedImages = Array.isArray(images) ? images.filter((image) => typeof image === 'string') : []
  return encodedImages.map((image) => {
    const data = image.replace(/^data:[^,]*,/, '')
    const mediaType = imagePrefixes.find(([start]) => data.startsWith(start))?.[1] ?? 'image/jpeg'
    return { kind: 'image', source: { kind: 'data', mediaType, data } }
  })
}
