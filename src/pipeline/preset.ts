import type { UsablePreset } from '../account/presets.ts'
import type { PresetFormat } from '../db/schema.ts'
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

/** No other text is looked for: a database may refuse it. */
const presetSlug = /^[\w.-]{1,200}$/

const reference = /^(.*?)@preset\/([^@/]+)$/

/** The body with what the preset it names adds; what the request itself says stands. */
export function expandPreset(
  gateway: Gateway,
  organizationId: string,
  target: PresetTarget,
  body: JsonObject,
): Expanded | Promise<Expanded> {
  const named = presetOf(body)
  return named ? expanded(gateway, organizationId, target, body, named) : { body, presetId: null }
}

async function expanded(
  gateway: Gateway,
  organizationId: string,
  target: PresetTarget,
  body: JsonObject,
  named: NamedPreset,
): Promise<Expanded> {
  const known = presetSlug.test(named.slug)
  const preset = known ? await gateway.memory.preset(organizationId, named.slug) : undefined
  if (!preset)
    throw fail('preset_unusable', `The preset "${named.slug.slice(0, 100)}" does not exist or is not active.`)
  const config = target.fit(preset)
  if (reference.test(textOf(config.model) ?? '')) {
    throw badField('model', `the preset "${named.slug}" names a preset itself`)
  }
  const own = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => value !== null && !presetOnly.has(name)),
  )
  const merged: JsonObject = { ...config, ...own, ...(named.model && { model: named.model }) }
  for (const name of nestedFields) {
    const settings = objectOf(config[name])
    if (settings) merged[name] = { ...settings, ...objectOf(own[name]) }
  }
  if (config.tools && own.tools) merged.tools = unitedTools(config.tools, own.tools)
  const prompted = preset.systemPrompt === null ? merged : target.prompt(merged, preset.systemPrompt)
  return { body: prompted, presetId: preset.id }
}

/** Where formats keep what steers the model, beside what it is asked. */
const nestedFields = ['generationConfig', 'options']

/** What only a preset says: a request has other ways to say it, or none. */
const presetOnly = new Set(['preset', 'model', 'cache_enabled', 'cache_ttl_seconds'])

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

/** The fields of a preset in the words of a format. */
function fitTo(format: PresetFormat) {
  return (preset: UsablePreset): JsonObject => {
    if (preset.format === format) return preset.config
    const fields = Object.entries(preset.config).filter(([name]) => !bound.has(name))
    return Object.fromEntries(
      fields.map(([name, value]) => [
        words.find((word) => word[preset.format] === name)?.[format] ?? name,
        value,
      ]),
    )
  }
}

const generationWords: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  max_tokens: 'maxOutputTokens',
  seed: 'seed',
  frequency_penalty: 'frequencyPenalty',
  presence_penalty: 'presencePenalty',
}

const optionWords: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  max_tokens: 'num_predict',
  seed: 'seed',
  stop: 'stop',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  repetition_penalty: 'repeat_penalty',
}

const routingFields = new Set([
  ...['model', 'models', 'provider', 'plugins', 'route'],
  ...['cache_enabled', 'cache_ttl_seconds'],
])

/** What steers the gateway is said beside the request, what steers the model inside a field of the format. */
function fitNested(field: string, words: Readonly<Record<string, string>>) {
  return (preset: UsablePreset): JsonObject => {
    const config = fitTo('chat')(preset)
    const steering = Object.entries(config).filter(([name]) => routingFields.has(name))
    const settings = Object.entries(config).flatMap(([name, value]) =>
      words[name] ? [[words[name], value] as const] : [],
    )
    return { ...Object.fromEntries(steering), [field]: Object.fromEntries(settings) }
  }
}

/** What a preset becomes in the bodies of a format. */
export interface PresetTarget {
  fit(preset: UsablePreset): JsonObject
  /** The body with a system prompt, unless it has one of its own. */
  prompt(body: JsonObject, text: string): JsonObject
}

export const presetTargets = {
  chat: { fit: fitTo('chat'), prompt: promptAsMessage },
  messages: { fit: fitTo('messages'), prompt: (body, system) => ({ system, ...body }) },
  responses: { fit: fitTo('responses'), prompt: (body, instructions) => ({ instructions, ...body }) },
  completions: { fit: fitTo('chat'), prompt: promptAsBeginning },
  gemini: { fit: fitNested('generationConfig', generationWords), prompt: promptAsInstruction },
  ollamaChat: { fit: fitNested('options', optionWords), prompt: promptAsMessage },
  ollamaGenerate: { fit: fitNested('options', optionWords), prompt: (body, system) => ({ system, ...body }) },
} satisfies Record<string, PresetTarget>

function promptAsMessage(body: JsonObject, content: string): JsonObject {
  const messages = objectsOf(body.messages)
  if (messages.some(({ role }) => role === 'system' || role === 'developer')) return body
  return { ...body, messages: [{ role: 'system', content }, ...messages] }
}

/** There is nobody to speak to in a text that is only to be continued. */
function promptAsBeginning(body: JsonObject, text: string): JsonObject {
  return typeof body.prompt === 'string' ? { ...body, prompt: `${text}\n\n${body.prompt}` } : body
}

function promptAsInstruction(body: JsonObject, text: string): JsonObject {
  if (body.systemInstruction || body.system_instruction) return body
  return { ...body, systemInstruction: { parts: [{ text }] } }
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
