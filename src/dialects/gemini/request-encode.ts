import type { Call, Message } from '../../call/call.ts'
import { defined, type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import type { Target, UpstreamRequest } from '../dialect.ts'
import { Losses, withoutUnsupported } from '../fields.ts'
import { wishAt } from '../thinking.ts'
import { tierFor } from '../tier.ts'
import { configNames, encodeConfig, encodeThinking } from './config-encode.ts'
import { field, listOf, objectField, snake } from './names.ts'
import { encodeMessageParts } from './parts-encode.ts'
import { ourFields } from './request-decode.ts'
import { withoutForeign } from './thoughts.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'
import { excuseUnsigned } from './unsigned-calls.ts'

interface Content {
  role: 'user' | 'model'
  parts: JsonObject[]
}

export function encodeRequest(asked: Call, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = withoutUnsupported(asked, target.unsupported, losses)
  losses.addFields(call, 'minP', 'topA', 'repetitionPenalty', 'logitBias', 'verbosity', 'prediction')
  losses.addFields(call, 'cache', 'promptCacheKey', 'user', 'metadata')
  if (call.parallelToolCalls === false) losses.add('parallel_tool_calls')
  const { system, contents } = encodeMessages(call.messages, losses)
  const body = defined({
    contents: thinksInLevels(target) ? excuseUnsigned(contents) : contents,
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    tools: encodeTools(call.tools, losses),
    toolConfig: encodeToolChoice(call, losses),
    generationConfig: encodeConfig(call, target, losses),
    serviceTier: encodeTier(call.serviceTier, target, losses),
  })
  return { path: pathOf(target), headers: {}, body, dropped: losses.list() }
}

function thinksInLevels({ reasoning }: Target): boolean {
  return reasoning !== null && !reasoning.budget
}

function pathOf({ model, stream }: Target): string {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model
  return `/models/${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

function encodeMessages(messages: Message[], losses: Losses): { system: JsonObject[]; contents: Content[] } {
  const system: JsonObject[] = []
  const contents: Content[] = []
  const writing = { losses, names: namesOf(messages) }
  if (messages.some(({ name }) => name !== undefined)) losses.add('message_name')
  for (const message of joined(messages)) {
    const parts = encodeMessageParts(message.parts, writing)
    const leading = message.role === 'developer' && contents.length === 0
    if (message.role === 'system' || leading) system.push(...onlyText(parts, losses))
    else addContent(contents, message.role === 'assistant' ? 'model' : 'user', parts)
  }
  // The vendor wants something to answer, and wants the user to speak first.
  if (contents.length === 0) return { system: [], contents: [{ role: 'user', parts: system }] }
  if (contents[0]?.role === 'model') contents.unshift({ role: 'user', parts: [{ text: ' ' }] })
  return { system, contents }
}

/** What a model said in several messages is one turn: a signature may stand in one and its call in the next. */
function joined(messages: Message[]): Message[] {
  const result: Message[] = []
  for (const message of messages) {
    const last = result.at(-1)
    if (message.role === 'assistant' && last?.role === 'assistant') {
      result[result.length - 1] = { ...last, parts: [...last.parts, ...message.parts] }
    } else result.push(message)
  }
  return result
}

function namesOf(messages: Message[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === 'tool-call') names.set(part.id, part.name)
  }
  return names
}

function onlyText(parts: JsonObject[], losses: Losses): JsonObject[] {
  return parts.filter((part) => {
    const isText = typeof part.text === 'string'
    if (!isText) losses.add(typeof part.inlineData === 'object' || part.fileData ? 'file' : 'block:system')
    return isText
  })
}

/** Turns alternate; the results of calls come first in the turn that answers them. */
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

const tiers: Record<string, string> = { default: 'standard', flex: 'flex', priority: 'priority' }

function encodeTier(asked: string | undefined, target: Target, losses: Losses): string | undefined {
  const tier = tierFor(asked, target, losses)
  if (tier === undefined || tier === 'auto') return undefined
  return tiers[tier] ?? losses.add('service_tier')
}

/** The client's own body: only the gateway's fields and foreign signatures are taken out. */
export function passRequest(body: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const passed: JsonObject = {}
  for (const [key, value] of Object.entries(body)) if (!ourFields.has(key)) passed[key] = value
  if (body.user !== undefined) losses.add('user')
  if (body.cache_control !== undefined) losses.add('cache_control')
  passTier(passed, target, losses)
  passThinking(passed, target, losses)
  if (body.contents !== undefined) passed.contents = passContents(body.contents, target, losses)
  if (target.unsupported.size > 0) dropUnsupported(passed, target.unsupported, losses)
  return { path: pathOf(target), headers: {}, body: passed, dropped: losses.list() }
}

function passTier(body: JsonObject, target: Target, losses: Losses): void {
  const asked = textOf(field(body, 'serviceTier'))
  const tier = tierFor(asked?.toLowerCase(), target, losses)
  if (tier === asked?.toLowerCase()) return
  delete body[snake('serviceTier')]
  if (tier === undefined) delete body.serviceTier
  else body.serviceTier = tier
}

/** Thinking that the client neither asked for nor refused, and what cannot be refused. */
function passThinking(body: JsonObject, target: Target, losses: Losses): void {
  if (target.thinking === null) return
  const spelling = 'generation_config' in body ? 'generation_config' : 'generationConfig'
  const config = objectField(body, 'generationConfig') ?? {}
  const said = objectField(config, 'thinkingConfig')
  const isOff = said !== undefined && field(said, 'thinkingBudget') === 0
  if (target.thinking === 'default' ? said !== undefined : !isOff) return
  const wish = wishAt(isOff ? { enabled: false } : undefined, target)
  const { thinkingConfig: _said, [snake('thinkingConfig')]: _snake, ...rest } = config
  const limit = field(config, 'maxOutputTokens')
  const thinkingConfig =
    wish && encodeThinking(wish, typeof limit === 'number' ? limit : undefined, target, losses)
  body[spelling] = defined({ ...rest, thinkingConfig })
}

/** Contents pass as they are unless they hold foreign thinking, which may go through several of the model's. */
function passContents(contents: unknown, target: Target, losses: Losses): unknown {
  if (typeof contents === 'string') return [{ role: 'user', parts: [{ text: contents }] }]
  let changed = false
  const passed = modelRuns(listOf(contents)).flatMap((run) => {
    const [first] = run
    const clean = withoutForeign(run.flatMap((entry) => listOf(objectOf(entry)?.parts)))
    if (!clean.changed) return run
    changed = true
    losses.add(clean.signed ? 'reasoning_signature' : 'reasoning')
    return clean.parts.length > 0 ? [{ ...objectOf(first), parts: clean.parts }] : []
  })
  if (!changed) return contents
  return thinksInLevels(target) ? excuseUnsigned(passed) : passed
}

/** Contents of the model that follow each other together, the others alone. */
function modelRuns(contents: unknown[]): unknown[][] {
  const runs: unknown[][] = []
  let before = false
  for (const entry of contents) {
    const isModel = objectOf(entry)?.role === 'model'
    if (isModel && before) runs.at(-1)?.push(entry)
    else runs.push([entry])
    before = isModel
  }
  return runs
}

function dropUnsupported(body: JsonObject, unsupported: ReadonlySet<string>, losses: Losses): void {
  const spelling = 'generationConfig' in body ? 'generationConfig' : 'generation_config'
  const config = objectField(body, 'generationConfig')
  const kept = config && { ...config }
  for (const [name, fields] of Object.entries(configNames)) {
    if (!kept || !unsupported.has(name)) continue
    for (const key of fields) {
      if (field(kept, key) === undefined) continue
      losses.add(name)
      delete kept[key]
      delete kept[snake(key)]
    }
  }
  if (kept) body[spelling] = kept
  for (const [name, key] of [
    ['tools', 'tools'],
    ['tool_choice', 'toolConfig'],
    ['service_tier', 'serviceTier'],
  ] as const) {
    if (!unsupported.has(name) || field(body, key) === undefined) continue
    losses.add(name)
    delete body[key]
    delete body[snake(key)]
  }
}
