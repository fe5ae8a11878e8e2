import type { UsablePreset } from '../account/presets.ts'
import type { DialectName } from '../catalog/vocabulary.ts'
import { badField, fail } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../lib/loose.ts'

export interface Expanded {
  body: JsonObject
  presetId: string | null
}

interface NamedPreset {
  slug: string
  /** The model the request names beside it, or nothing. */
  model: string
}

const reference = /^(.*?)@preset\/([^@/]+)$/

/** The body with what the preset it names adds; what the request itself says stands. */
export function expandPreset(
  gateway: Gateway,
  organizationId: string,
  format: DialectName,
  body: JsonObject,
): Expanded | Promise<Expanded> {
  const named = presetOf(body)
  return named ? expanded(gateway, organizationId, format, body, named) : { body, presetId: null }
}

async function expanded(
  gateway: Gateway,
  organizationId: string,
  format: DialectName,
  body: JsonObject,
  named: NamedPreset,
): Promise<Expanded> {
  const preset = await gateway.memory.preset(organizationId, named.slug)
  if (!preset) throw fail('preset_unusable', `The preset "${named.slug}" does not exist or is not active.`)
  const config = inFormat(preset, format)
  if (reference.test(textOf(config.model) ?? '')) {
    throw badField('model', `the preset "${named.slug}" names a preset itself`)
  }
  const { preset: _, model: __, ...request } = body
  const own = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null))
  const merged: JsonObject = { ...config, ...own, ...(named.model && { model: named.model }) }
  if (config.tools && own.tools) merged.tools = unitedTools(config.tools, own.tools)
  return { body: withSystemPrompt(merged, format, preset.systemPrompt), presetId: preset.id }
}

/** `@preset/slug`, `author/model@preset/slug`, or the field `preset`. */
function presetOf(body: JsonObject): NamedPreset | null {
  const model = textOf(body.model) ?? ''
  const match = reference.exec(model)
  if (match) return { model: match[1] ?? '', slug: match[2] ?? '' }
  const slug = textOf(body.preset)
  return slug ? { model, slug } : null
}

/** Where formats have different words for one thing. */
const words: { chat: string; messages: string; responses: string }[] = [
  { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' },
  { chat: 'stop', messages: 'stop_sequences', responses: 'stop' },
]

/** Fields that mean something else, or nothing, in another format than the one they were written in. */
const bound = new Set([
  'tools',
  'tool_choice',
  'response_format',
  'text',
  'output_config',
  'thinking',
  'reasoning',
  'reasoning_effort',
  'context_management',
  'include',
  'max_completion_tokens',
])

function inFormat(preset: UsablePreset, format: DialectName): JsonObject {
  if (preset.format === format || !(format === 'chat' || format === 'messages' || format === 'responses')) {
    return preset.config
  }
  const fields = Object.entries(preset.config).filter(([name]) => !bound.has(name))
  return Object.fromEntries(
    fields.map(([name, value]) => [
      words.find((word) => word[preset.format] === name)?.[format] ?? name,
      value,
    ]),
  )
}

/** The preset's tools in their order, then those only the request has. */
function unitedTools(ofPreset: unknown, ofRequest: unknown): JsonObject[] {
  const requested = objectsOf(ofRequest)
  const names = new Set(requested.map(toolIdentity))
  const kept = objectsOf(ofPreset).map(
    (tool) => requested.find((own) => toolIdentity(own) === toolIdentity(tool)) ?? tool,
  )
  const known = new Set(kept.map(toolIdentity))
  return [
    ...kept,
    ...requested.filter((tool) => names.has(toolIdentity(tool)) && !known.has(toolIdentity(tool))),
  ]
}

function toolIdentity(tool: JsonObject): string {
  const name =
    textOf(objectOf(tool.function)?.name) ?? textOf(tool.name) ?? textOf(objectOf(tool.parameters)?.name)
  return name === undefined ? String(tool.type) : `${tool.type ?? 'custom'} ${name}`
}

function withSystemPrompt(body: JsonObject, format: DialectName, prompt: string | null): JsonObject {
  if (prompt === null) return body
  if (format === 'messages') return { system: prompt, ...body }
  if (format === 'responses') return { instructions: prompt, ...body }
  const messages = objectsOf(body.messages)
  if (messages.some(({ role }) => role === 'system' || role === 'developer')) return body
  return { ...body, messages: [{ role: 'system', content: prompt }, ...messages] }
}
