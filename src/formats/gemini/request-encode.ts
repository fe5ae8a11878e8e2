import { asObject, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Message, ModelCall } from '../call/call.ts'
import { dropUnsupportedFields, Losses } from '../fields.ts'
import { resolveReasoning } from '../reasoning-options.ts'
import { resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { configFields, encodeConfig, encodeReasoning } from './config-encode.ts'
import { listOf, readField, readObjectField, toSnakeCase } from './field-names.ts'
import { encodeParts } from './parts-encode.ts'
import { gatewayFields } from './request-decode.ts'
import { removeForeignReasoning } from './thoughts.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'
import { signUnsignedToolCalls } from './unsigned-tool-calls.ts'

interface Content {
  role: 'user' | 'model'
  parts: JsonObject[]
}

export function encodeRequest(originalCall: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(originalCall, target.unsupportedFields, losses)
  losses.addFields(call, 'minP', 'topA', 'repetitionPenalty', 'logitBias', 'verbosity', 'prediction')
  losses.addFields(call, 'cache', 'promptCacheKey', 'user', 'metadata')
  if (call.parallelToolCalls === false) losses.add('parallel_tool_calls')
  const { system, contents } = encodeMessages(call.messages, losses)
  const body = omitUndefined({
    contents: requiresSignatures(target) ? signUnsignedToolCalls(contents) : contents,
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    tools: encodeTools(call.tools, losses),
    toolConfig: encodeToolChoice(call, losses),
    generationConfig: encodeConfig(call, target, losses),
    serviceTier: encodeTier(call.serviceTier, target, losses),
  })
  return { path: buildPath(target), headers: {}, body, dropped: losses.list() }
}

/** Models with thinking levels, which began with version 3: a declaration may not say how a model reasons. */
function requiresSignatures({ reasoning, model }: Target): boolean {
  if (reasoning !== null) return !reasoning.budget
  return Number(/gemini-(\d+)/.exec(model)?.[1] ?? 0) >= 3
}

function buildPath({ model, stream }: Target): string {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model
  return `/models/${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

function encodeMessages(messages: Message[], losses: Losses): { system: JsonObject[]; contents: Content[] } {
  const system: JsonObject[] = []
  const contents: Content[] = []
  const context = { losses, toolNames: collectToolNames(messages) }
  if (messages.some(({ name }) => name !== undefined)) losses.add('message_name')
  for (const message of mergeAssistantMessages(messages)) {
    const parts = encodeParts(message.parts, context)
    const isLeading = message.role === 'developer' && contents.length === 0
    if (message.role === 'system' || isLeading) system.push(...filterTextParts(parts, losses))
    else addContent(contents, message.role === 'assistant' ? 'model' : 'user', parts)
  }
  // The vendor requires at least one content, and a user turn first.
  if (contents.length === 0) return { system: [], contents: [{ role: 'user', parts: system }] }
  if (contents[0]?.role === 'model') contents.unshift({ role: 'user', parts: [{ text: ' ' }] })
  return { system, contents }
}

/** Joins consecutive assistant messages into one turn: a signature and its tool call may be in different messages. */
function mergeAssistantMessages(messages: Message[]): Message[] {
  const result: Message[] = []
  for (const message of messages) {
    const last = result.at(-1)
    if (message.role === 'assistant' && last?.role === 'assistant') {
      result[result.length - 1] = { ...last, parts: [...last.parts, ...message.parts] }
    } else result.push(message)
  }
  return result
}

function collectToolNames(messages: Message[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'tool-call') names.set(part.id, part.name)
  }
  return names
}

function filterTextParts(parts: JsonObject[], losses: Losses): JsonObject[] {
  return parts.filter((part) => {
    const isText = typeof part.text === 'string'
    if (!isText) losses.add(typeof part.inlineData === 'object' || part.fileData ? 'file' : 'block:system')
    return isText
  })
}

/** The vendor requires alternating turns, with tool results first. */
function addContent(contents: Content[], role: Content['role'], parts: JsonObject[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  const turn = last?.role === role ? last : { role, parts: [] }
  if (turn !== last) contents.push(turn)
  turn.parts.push(...parts)
  const isResult = (part: JsonObject) => part.functionResponse !== undefined
  if (role === 'user' && parts.some(isResult)) {
    turn.parts = [...turn.parts.filter(isResult), ...turn.parts.filter((part) => !isResult(part))]
  }
}

const wireTiers: Record<string, string> = { default: 'standard', flex: 'flex', priority: 'priority' }

function encodeTier(requestedTier: string | undefined, target: Target, losses: Losses): string | undefined {
  const tier = resolveTier(requestedTier, target, losses)
  if (tier === undefined || tier === 'auto') return undefined
  return wireTiers[tier] ?? losses.add('service_tier')
}

/** Passes the client's body without the gateway's fields and other vendors' signatures. */
export function passRequest(body: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const passed: JsonObject = {}
  for (const [key, value] of Object.entries(body)) if (!gatewayFields.has(key)) passed[key] = value
  if (body.user !== undefined) losses.add('user')
  if (body.cache_control !== undefined) losses.add('cache_control')
  passTier(passed, target, losses)
  passReasoning(passed, target, losses)
  if (body.contents !== undefined) passed.contents = passContents(body.contents, target, losses)
  if (target.unsupportedFields.size > 0) dropUnsupported(passed, target.unsupportedFields, losses)
  return { path: buildPath(target), headers: {}, body: passed, dropped: losses.list() }
}

function passTier(body: JsonObject, target: Target, losses: Losses): void {
  const requestedTier = asString(readField(body, 'serviceTier'))
  const tier = resolveTier(requestedTier?.toLowerCase(), target, losses)
  if (tier === requestedTier?.toLowerCase()) return
  delete body[toSnakeCase('serviceTier')]
  if (tier === undefined) delete body.serviceTier
  else body.serviceTier = tier
}

/** Enables reasoning where it is the default and the client did not choose; does not disable it where it is mandatory. */
function passReasoning(body: JsonObject, target: Target, losses: Losses): void {
  if (target.reasoningMode === null) return
  const spelling = 'generation_config' in body ? 'generation_config' : 'generationConfig'
  const config = readObjectField(body, 'generationConfig') ?? {}
  const requested = readObjectField(config, 'thinkingConfig')
  const isOff = requested !== undefined && readField(requested, 'thinkingBudget') === 0
  if (target.reasoningMode === 'default' ? requested !== undefined : !isOff) return
  const options = resolveReasoning(isOff ? { enabled: false } : undefined, target)
  const { thinkingConfig: _camel, [toSnakeCase('thinkingConfig')]: _snake, ...rest } = config
  const limit = readField(config, 'maxOutputTokens')
  const thinkingConfig =
    options && encodeReasoning(options, typeof limit === 'number' ? limit : undefined, target, losses)
  body[spelling] = omitUndefined({ ...rest, thinkingConfig })
}

/** Removes other vendors' reasoning, which may span consecutive model contents; the rest passes unchanged. */
function passContents(contents: unknown, target: Target, losses: Losses): unknown {
  if (typeof contents === 'string') return [{ role: 'user', parts: [{ text: contents }] }]
  let changed = false
  const passed = groupModelContents(listOf(contents)).flatMap((run) => {
    const [first] = run
    const cleaned = removeForeignReasoning(run.flatMap((entry) => listOf(asObject(entry)?.parts)))
    if (!cleaned.isChanged) return run
    changed = true
    losses.add(cleaned.isSigned ? 'reasoning_signature' : 'reasoning')
    return cleaned.parts.length > 0 ? [{ ...asObject(first), parts: cleaned.parts }] : []
  })
  if (!changed) return contents
  return requiresSignatures(target) ? signUnsignedToolCalls(passed) : passed
}

/** Groups consecutive model contents; every other content is its own group. */
function groupModelContents(contents: unknown[]): unknown[][] {
  const runs: unknown[][] = []
  let isPreviousModel = false
  for (const entry of contents) {
    const isModel = asObject(entry)?.role === 'model'
    if (isModel && isPreviousModel) runs.at(-1)?.push(entry)
    else runs.push([entry])
    isPreviousModel = isModel
  }
  return runs
}

function dropUnsupported(body: JsonObject, unsupported: ReadonlySet<string>, losses: Losses): void {
  const spelling = 'generationConfig' in body ? 'generationConfig' : 'generation_config'
  const config = readObjectField(body, 'generationConfig')
  const remaining = config && { ...config }
  for (const [name, fields] of Object.entries(configFields)) {
    if (!remaining || !unsupported.has(name)) continue
    for (const key of fields) {
      if (readField(remaining, key) === undefined) continue
      losses.add(name)
      delete remaining[key]
      delete remaining[toSnakeCase(key)]
    }
  }
  if (remaining) body[spelling] = remaining
  for (const [name, key] of [
    ['tools', 'tools'],
    ['tool_choice', 'toolConfig'],
    ['service_tier', 'serviceTier'],
  ] as const) {
    if (!unsupported.has(name) || readField(body, key) === undefined) continue
    losses.add(name)
    delete body[key]
    delete body[toSnakeCase(key)]
  }
}
