import type { Call, Format, FunctionTool, Message, ReasoningWish } from '../../call/call.ts'
import type { ImagePart, InputPart, OutputPart, ToolCallPart } from '../../call/part.ts'
import { isEffort } from '../../call/reasoning.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { decodeSampling, gatewayFields } from '../chat/request-decode.ts'

const readFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'system', 'suffix', 'images', 'tools', 'stream', 'format', 'think'],
  ...['options', 'keep_alive', 'logprobs', 'top_logprobs', 'raw'],
])

/** Options that have another name, or the same one, in `decodeSampling`. */
const samplingNames: Record<string, string> = {
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

/** How a model is to be run on one's own machine: nothing that an answer depends on here. */
const engineOptions: ReadonlySet<string> = new Set([
  ...['numa', 'num_ctx', 'num_batch', 'num_gpu', 'main_gpu', 'low_vram', 'f16_kv', 'logits_all'],
  ...['vocab_only', 'use_mmap', 'use_mlock', 'embedding_only', 'num_thread', 'num_keep'],
])

export function decodeChat(body: JsonObject): Call {
  const call = decodeShared(body, decodeMessages(objectsOf(body.messages)))
  const tools = objectsOf(body.tools).map(decodeTool)
  return tools.length > 0 ? { ...call, tools } : call
}

export function decodeGenerate(body: JsonObject): Call {
  // It would change what the text of the answer is.
  if (textOf(body.suffix)) throw badField('suffix', 'is not supported')
  const [system, prompt] = [textOf(body.system), textOf(body.prompt) ?? '']
  const parts: InputPart[] = [{ kind: 'text', text: prompt }, ...decodeImages(body.images)]
  const instruction: Message[] = system ? [{ role: 'system', parts: [{ kind: 'text', text: system }] }] : []
  return decodeShared(body, [...instruction, { role: 'user', parts }])
}

function decodeShared(body: JsonObject, messages: Message[]): Call {
  const options = objectOf(body.options) ?? {}
  const call: Call = { messages, stream: body.stream !== false, unknown: unknownFields(body, options) }
  decodeSampling(samplingOf(options), call)
  if (body.logprobs === true) call.logprobs = true
  const alternatives = numberOf(body.top_logprobs)
  if (alternatives !== undefined && alternatives > 0) call.topLogprobs = alternatives
  const format = decodeFormat(body.format)
  if (format) call.format = format
  const reasoning = decodeThink(body.think)
  if (reasoning) call.reasoning = reasoning
  return call
}

function samplingOf(options: JsonObject): JsonObject {
  const sampling: JsonObject = {}
  for (const [name, value] of Object.entries(options)) {
    const known = samplingNames[name]
    if (known !== undefined) sampling[known] = value
  }
  // Below one it means without limit.
  if ((numberOf(sampling.max_tokens) ?? 1) < 1) delete sampling.max_tokens
  return sampling
}

function unknownFields(body: JsonObject, options: JsonObject): string[] {
  const isSaid = (value: unknown) => value !== undefined && value !== null
  const fields = Object.keys(body).filter(
    (name) => !readFields.has(name) && !gatewayFields.has(name) && isSaid(body[name]),
  )
  const unknown = Object.keys(options).filter(
    (name) => !(name in samplingNames) && !engineOptions.has(name) && isSaid(options[name]),
  )
  return [...fields, ...unknown.map((name) => `options.${name}`)]
}

function decodeFormat(format: unknown): Format | undefined {
  if (format === 'json') return { kind: 'json' }
  const schema = objectOf(format)
  return schema && { kind: 'schema', schema }
}

function decodeThink(think: unknown): ReasoningWish | undefined {
  if (typeof think === 'boolean') return { enabled: think }
  return isEffort(think) ? { effort: think } : undefined
}

function decodeTool(given: JsonObject): FunctionTool {
  const named = objectOf(given.function) ?? {}
  const [description, schema] = [textOf(named.description), objectOf(named.parameters)]
  return {
    kind: 'function',
    name: textOf(named.name) ?? '',
    ...(description !== undefined && { description }),
    ...(schema && { schema }),
  }
}

function decodeMessages(given: JsonObject[]): Message[] {
  const messages: Message[] = []
  /** Calls that have no result yet: most clients do not say which one they answer. */
  let open: ToolCallPart[] = []
  given.forEach((message, at) => {
    if (message.role === 'tool') {
      const answered = answeredCall(message, open)
      open = open.filter((call) => call !== answered)
      addResult(messages, message, answered?.id ?? textOf(message.tool_call_id) ?? `call_${at}`)
      return
    }
    if (message.role !== 'assistant') {
      const parts = [...textParts(message), ...decodeImages(message.images)]
      messages.push({ role: message.role === 'system' ? 'system' : 'user', parts })
      return
    }
    const calls = objectsOf(message.tool_calls).map((call, index) => decodeCall(call, `call_${at}_${index}`))
    open = calls
    messages.push({ role: 'assistant', parts: [...decodeThought(message), ...textParts(message), ...calls] })
  })
  return messages
}

function answeredCall(message: JsonObject, open: ToolCallPart[]): ToolCallPart | undefined {
  const [id, name] = [textOf(message.tool_call_id), textOf(message.tool_name) ?? textOf(message.name)]
  if (id !== undefined) return open.find((call) => call.id === id)
  return open.find((call) => call.name === name) ?? (name === undefined ? open[0] : undefined)
}

/** Results of one turn's calls are one message. */
function addResult(messages: Message[], message: JsonObject, id: string): void {
  const name = textOf(message.tool_name)
  const content = [{ kind: 'text' as const, text: textOf(message.content) ?? '' }]
  const result = { kind: 'tool-result' as const, id, content, ...(name !== undefined && { name }) }
  const last = messages.at(-1)
  if (last?.role === 'user' && last.parts.every((part) => part.kind === 'tool-result'))
    last.parts.push(result)
  else messages.push({ role: 'user', parts: [result] })
}

function textParts({ content }: JsonObject): { kind: 'text'; text: string }[] {
  const text = textOf(content)
  return text ? [{ kind: 'text', text }] : []
}

function decodeThought({ thinking }: JsonObject): OutputPart[] {
  const text = textOf(thinking)
  return text ? [{ kind: 'reasoning', text, summary: [], format: 'unknown' }] : []
}

function decodeCall(call: JsonObject, fallbackId: string): ToolCallPart {
  const named = objectOf(call.function) ?? {}
  const given = named.arguments ?? {}
  return {
    kind: 'tool-call',
    id: textOf(call.id) || fallbackId,
    name: textOf(named.name) ?? '',
    arguments: typeof given === 'string' ? given : JSON.stringify(given),
  }
}

/** How the base64 of an image begins, by its type: the format does not say it. */
const beginnings: [string, string][] = [
  ['iVBOR', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

function decodeImages(images: unknown): ImagePart[] {
  const given = Array.isArray(images) ? images.filter((image) => typeof image === 'string') : []
  return given.map((image) => {
    const data = image.replace(/^data:[^,]*,/, '')
    const mediaType = beginnings.find(([start]) => data.startsWith(start))?.[1] ?? 'image/jpeg'
    return { kind: 'image', source: { kind: 'data', mediaType, data } }
  })
}
