import type { ActivePreset } from '../../account/presets.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { PresetFormat } from '../../db/schema.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../lib/json-values.ts'

export interface ExpandedRequest {
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

const presetReference = /^(.*?)@preset\/([^@/]+)$/

/** The body with what the preset it names adds; what the request itself says stands. */
export function expandPreset(
  gateway: Gateway,
  organizationId: string,
  target: PresetTarget,
  body: JsonObject,
): ExpandedRequest | Promise<ExpandedRequest> {
  const named = parsePresetReference(body)
  return named ? applyPreset(gateway, organizationId, target, body, named) : { body, presetId: null }
}

async function applyPreset(
  gateway: Gateway,
  organizationId: string,
  target: PresetTarget,
  body: JsonObject,
  named: NamedPreset,
): Promise<ExpandedRequest> {
  const known = presetSlug.test(named.slug)
  const preset = known ? await gateway.accounts.findPreset(organizationId, named.slug) : undefined
  if (!preset)
    throw gatewayError(
      'preset_unusable',
      `The preset "${named.slug.slice(0, 100)}" does not exist or is not active.`,
    )
  const config = target.translate(preset)
  if (presetReference.test(asString(config.model) ?? '')) {
    throw invalidFieldError('model', `the preset "${named.slug}" names a preset itself`)
  }
  const own = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => value !== null && !presetOnly.has(name)),
  )
  const merged: JsonObject = { ...config, ...own, ...(named.model && { model: named.model }) }
  for (const name of nestedFields) {
    const settings = asObject(config[name])
    if (settings) merged[name] = { ...settings, ...asObject(own[name]) }
  }
  if (config.tools && own.tools) merged.tools = mergeTools(config.tools, own.tools)
  const prompted = preset.systemPrompt === null ? merged : target.addSystemPrompt(merged, preset.systemPrompt)
  return { body: prompted, presetId: preset.id }
}

/** Where formats keep what steers the model, beside what it is asked. */
const nestedFields = ['generationConfig', 'options']

/** What only a preset says: a request has other ways to say it, or none. */
const presetOnly = new Set(['preset', 'model', 'cache_enabled', 'cache_ttl_seconds'])

/** `@preset/slug`, `author/model@preset/slug`, or the field `preset`. */
function parsePresetReference(body: JsonObject): NamedPreset | null {
  const model = asString(body.model) ?? ''
  const match = presetReference.exec(model)
  if (match) return { model: match[1] ?? '', slug: match[2] ?? '' }
  const slug = asString(body.preset)
  return slug ? { model, slug } : null
}

/** Where formats have different words for one thing. */
const fieldNames: { chat: string; messages: string; responses: string }[] = [
  { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' },
  { chat: 'stop', messages: 'stop_sequences', responses: 'stop' },
]

/** Fields that mean something else, or nothing, in another format than the one they were written in. */
const formatSpecificFields = new Set([
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
function translateTo(format: PresetFormat) {
  return (preset: ActivePreset): JsonObject => {
    if (preset.format === format) return preset.config
    const fields = Object.entries(preset.config).filter(([name]) => !formatSpecificFields.has(name))
    return Object.fromEntries(
      fields.map(([name, value]) => [
        fieldNames.find((word) => word[preset.format] === name)?.[format] ?? name,
        value,
      ]),
    )
  }
}

const geminiFieldNames: Record<string, string> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  max_tokens: 'maxOutputTokens',
  seed: 'seed',
  frequency_penalty: 'frequencyPenalty',
  presence_penalty: 'presencePenalty',
}

const ollamaFieldNames: Record<string, string> = {
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
function translateNested(field: string, words: Readonly<Record<string, string>>) {
  return (preset: ActivePreset): JsonObject => {
    const config = translateTo('chat')(preset)
    const steering = Object.entries(config).filter(([name]) => routingFields.has(name))
    const settings = Object.entries(config).flatMap(([name, value]) =>
      words[name] ? [[words[name], value] as const] : [],
    )
    return { ...Object.fromEntries(steering), [field]: Object.fromEntries(settings) }
  }
}

/** What a preset becomes in the bodies of a format. */
export interface PresetTarget {
  translate(preset: ActivePreset): JsonObject
  /** The body with a system prompt, unless it has one of its own. */
  addSystemPrompt(body: JsonObject, text: string): JsonObject
}

export const presetTargets = {
  chat: { translate: translateTo('chat'), addSystemPrompt: prependSystemMessage },
  messages: { translate: translateTo('messages'), addSystemPrompt: (body, system) => ({ system, ...body }) },
  responses: {
    translate: translateTo('responses'),
    addSystemPrompt: (body, instructions) => ({ instructions, ...body }),
  },
  completions: { translate: translateTo('chat'), addSystemPrompt: prependToPrompt },
  gemini: {
    translate: translateNested('generationConfig', geminiFieldNames),
    addSystemPrompt: addSystemInstruction,
  },
  ollamaChat: {
    translate: translateNested('options', ollamaFieldNames),
    addSystemPrompt: prependSystemMessage,
  },
  ollamaGenerate: {
    translate: translateNested('options', ollamaFieldNames),
    addSystemPrompt: (body, system) => ({ system, ...body }),
  },
} satisfies Record<string, PresetTarget>

function prependSystemMessage(body: JsonObject, content: string): JsonObject {
  const messages = asObjects(body.messages)
  if (messages.some(({ role }) => role === 'system' || role === 'developer')) return body
  return { ...body, messages: [{ role: 'system', content }, ...messages] }
}

/** There is nobody to speak to in a text that is only to be continued. */
function prependToPrompt(body: JsonObject, text: string): JsonObject {
  return typeof body.prompt === 'string' ? { ...body, prompt: `${text}\n\n${body.prompt}` } : body
}

function addSystemInstruction(body: JsonObject, text: string): JsonObject {
  if (body.systemInstruction || body.system_instruction) return body
  return { ...body, systemInstruction: { parts: [{ text }] } }
}

/** The preset's tools in their order, then those only the request has. */
function mergeTools(ofPreset: unknown, ofRequest: unknown): JsonObject[] {
  const requested = asObjects(ofRequest)
  const names = new Set(requested.map(toolIdentity))
  const kept = asObjects(ofPreset).map(
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
    asString(asObject(tool.function)?.name) ??
    asString(tool.name) ??
    asString(asObject(tool.parameters)?.name)
  return name === undefined ? String(tool.type) : `${tool.type ?? 'custom'} ${name}`
}
