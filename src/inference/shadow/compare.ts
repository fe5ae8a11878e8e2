import type { ModelCall } from '../../formats/call/call.ts'
import type { Reply } from '../../formats/call/event.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { ComparedSide, Comparison, Difference } from '../../storage/shadows/comparison.ts'
import { describeReply, type ReplyFacts } from './reply-facts.ts'

/** How a request has ended at one side. The reply is null if there is none. */
export interface SideOutcome extends ComparedSide {
  reply: Reply | null
}

interface ComparedRequest {
  call: Pick<ModelCall, 'format' | 'tools'>
  /** Whether its contents are stored: then names in its replies may be. */
  logsContent: boolean
}

const maxDifferences = 50
const maxTextLength = 200

/** Compares how two replies to a request are built, without their texts. */
export function compareSides(
  original: SideOutcome,
  mirror: SideOutcome,
  { call, logsContent }: ComparedRequest,
): Comparison {
  const ofOriginal = original.reply && describeReply(original.reply, call)
  const ofMirror = mirror.reply && describeReply(mirror.reply, call)
  const all = [...compareEnds(original, mirror)]
  if (ofOriginal && ofMirror && original.status === 'completed' && mirror.status === 'completed')
    all.push(...compareFacts(ofOriginal, ofMirror))
  const mask = logsContent ? (text: string) => text : createMask(call)
  const differences = all.slice(0, maxDifferences).map((one) => {
    const write = (text: string | null) => text && shorten(namingKinds.has(one.kind) ? mask(text) : text)
    return {
      kind: one.kind,
      path: write(one.path),
      original: write(one.original),
      mirror: write(one.mirror),
    }
  })
  return {
    original: toSide(original),
    mirror: toSide(mirror),
    differences,
    omitted: all.length - differences.length,
    structured_output: { original: ofOriginal?.isValid ?? null, mirror: ofMirror?.isValid ?? null },
  }
}

function toSide({ reply: _reply, ...side }: SideOutcome): ComparedSide {
  return side
}

function shorten(text: string): string {
  // PostgreSQL has no text with a NUL.
  return text.slice(0, maxTextLength).replaceAll('\0', '').toWellFormed()
}

function* compareEnds(original: SideOutcome, mirror: SideOutcome): Generator<Difference> {
  if (original.status !== mirror.status) yield differ('status', null, original.status, mirror.status)
  if (original.error !== mirror.error) yield differ('error', null, original.error, mirror.error)
}

function* compareFacts(original: ReplyFacts, mirror: ReplyFacts): Generator<Difference> {
  if (original.finishReason !== mirror.finishReason)
    yield differ('finish_reason', null, original.finishReason, mirror.finishReason)
  if (original.choices !== mirror.choices)
    yield differ('choices', null, String(original.choices), String(mirror.choices))
  const [parts, others] = [original.parts.join(', '), mirror.parts.join(', ')]
  if (parts !== others) yield differ('parts', null, parts, others)
  yield* compareToolCalls(original, mirror)
  if (original.isValid !== mirror.isValid)
    yield differ('structured_output', null, nameValidity(original), nameValidity(mirror))
  yield* compareJson(original.json, mirror.json)
}

function* compareToolCalls({ toolCalls }: ReplyFacts, mirror: ReplyFacts): Generator<Difference> {
  const [names, others] = [listNames(toolCalls), listNames(mirror.toolCalls)]
  if (names !== others) return yield differ('tool_calls', null, names, others)
  for (const [index, call] of toolCalls.entries()) {
    const [own, other] = [listArguments(call), listArguments(mirror.toolCalls[index])]
    if (own !== other) yield differ('tool_arguments', `tool_calls[${index}].${call.name}`, own, other)
  }
}

function listNames(calls: ReplyFacts['toolCalls']): string {
  return calls.map(({ name }) => name).join(', ')
}

function listArguments(call: ReplyFacts['toolCalls'][number] | undefined): string {
  return call?.arguments ? call.arguments.join(', ') : 'not JSON'
}

function nameValidity({ isValid }: ReplyFacts): string {
  return isValid === null ? 'not checked' : isValid ? 'valid' : 'not valid'
}

function* compareJson(original: ReplyFacts['json'], mirror: ReplyFacts['json']): Generator<Difference> {
  if (!original && !mirror) return
  if (!original || !mirror)
    return yield differ('json_shape', '$', original ? 'JSON' : 'text', mirror ? 'JSON' : 'text')
  for (const path of new Set([...original.keys(), ...mirror.keys()])) {
    const [own, other] = [original.get(path) ?? null, mirror.get(path) ?? null]
    if (own !== other) yield differ('json_shape', path, own, other)
  }
}

function differ(
  kind: Difference['kind'],
  path: string | null,
  original: string | null,
  mirror: string | null,
): Difference {
  return { kind, path, original, mirror }
}

/** Differences with names from replies. */
const namingKinds: ReadonlySet<Difference['kind']> = new Set(['tool_calls', 'tool_arguments', 'json_shape'])

/** What such a difference consists of besides these names. */
const typeWords = ['JSON', 'not', 'text', 'string', 'number', 'boolean', 'null', 'array', 'object']

/** Replaces names that the request does not declare: a model may have made them up of its contents. */
function createMask({ tools = [], format }: ComparedRequest['call']): (text: string) => string {
  const declared = new Set([...typeWords, 'tool_calls'])
  for (const tool of tools) {
    if (tool.kind === 'native') continue
    declared.add(tool.name)
    if (tool.kind === 'function' && tool.schema) addPropertyNames(tool.schema, declared)
  }
  if (format?.kind === 'schema') addPropertyNames(format.schema, declared)
  const maskWord = (word: string) => (declared.has(word) || /^\d{1,3}$/.test(word) ? word : '*')
  return (text) => text.replace(/[^\s.,[\]|$]+/g, maskWord)
}

const maxNames = 2000

function addPropertyNames(root: JsonObject, names: Set<string>): void {
  const waiting: unknown[] = [root]
  for (let next = waiting.pop(); next !== undefined && names.size < maxNames; next = waiting.pop()) {
    const fields = asObject(next)
    const properties = asObject(fields?.properties)
    for (const name of Object.keys(properties ?? {})) names.add(name)
    if (Array.isArray(next)) waiting.push(...next.slice(0, maxNames))
    else if (fields) waiting.push(...Object.values(fields).slice(0, maxNames))
  }
}
