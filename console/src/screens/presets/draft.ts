import type { Schemas } from '../../api/client.ts'

export type PresetVersion = Schemas['PresetVersion']
export type PresetFormat = PresetVersion['format']

export const presetFormats = ['chat', 'messages', 'responses'] as const satisfies PresetFormat[]

export const formatLabels: Record<PresetFormat, string> = {
  chat: 'Chat Completions',
  messages: 'Messages',
  responses: 'Responses',
}

/** The field that limits the length of a reply. */
export const limitFields: Record<PresetFormat, string> = {
  chat: 'max_tokens',
  messages: 'max_tokens',
  responses: 'max_output_tokens',
}

/** A version as it stands in the form. */
export interface Draft {
  format: PresetFormat
  model: string
  systemPrompt: string
  temperature: number | null
  maxTokens: number | null
  /** The rest of the configuration, as JSON. */
  others: string
}

export const emptyDraft: Draft = {
  format: 'chat',
  model: '',
  systemPrompt: '',
  temperature: null,
  maxTokens: null,
  others: '',
}

export function draftOf({ format, system_prompt, config }: PresetVersion): Draft {
  const { model, temperature, [limitFields[format]]: maxTokens, ...others } = config
  const isPlain = typeof model === 'string' && [temperature, maxTokens].every(isNumberOrAbsent)
  return {
    format,
    model: isPlain ? model : '',
    systemPrompt: system_prompt ?? '',
    temperature: isPlain && typeof temperature === 'number' ? temperature : null,
    maxTokens: isPlain && typeof maxTokens === 'number' ? maxTokens : null,
    others: writeOthers(isPlain ? others : config),
  }
}

function isNumberOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'number'
}

function writeOthers(others: Record<string, unknown>): string {
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2)
}

/** Given by the form in a field of their own, or not stored by a preset. */
const ownFields = ['messages', 'input', 'prompt', 'system', 'instructions', 'stream']

/** The configuration, or what is wrong with the JSON. */
export function configOf(draft: Draft): { config: Record<string, unknown> } | { problem: string } {
  const others = readOthers(draft.others)
  if (typeof others === 'string') return { problem: others }
  const misplaced = ownFields.find((name) => Object.hasOwn(others, name))
  if (misplaced)
    return { problem: `"${misplaced}" is not stored in a preset here: the system prompt has a field above.` }
  const { model, temperature, maxTokens, format } = draft
  return {
    config: {
      ...others,
      ...(model.trim() && { model: model.trim() }),
      ...(temperature !== null && { temperature }),
      ...(maxTokens !== null && { [limitFields[format]]: maxTokens }),
    },
  }
}

function readOthers(text: string): Record<string, unknown> | string {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
    return 'Write a JSON object, such as {"provider": {"sort": "price"}}.'
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** A request must have a message; a preset does not store it. */
const requiredMessage = { role: 'user', content: 'Hello' }

/** The request that a version is created from, in its format. */
export function requestOf(
  { format, systemPrompt }: Pick<Draft, 'format' | 'systemPrompt'>,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const system = systemPrompt.trim() === '' ? null : systemPrompt
  if (format === 'messages') return { ...config, ...(system && { system }), messages: [requiredMessage] }
  if (format === 'responses') {
    return { ...config, ...(system && { instructions: system }), input: requiredMessage.content }
  }
  return { ...config, messages: [...(system ? [{ role: 'system', content: system }] : []), requiredMessage] }
}
